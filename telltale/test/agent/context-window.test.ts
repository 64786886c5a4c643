import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { createProviderModel } from '../../src/models/providers/create-provider-model.ts';
import type { Dialect, Move } from '../lab/models/move.ts';
import type { Utterance } from '../lab/models/words.ts';
import type { WireName } from '../wire/check-request.ts';
import { type Answer, FORMATS, runOverHttp, stream } from '../wire/over-http.ts';

const ENV = {
  ANTHROPIC_API_KEY: 'k',
  OPENAI_API_KEY: 'k',
  GOOGLE_GENERATIVE_AI_API_KEY: 'k',
  OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:9/v1',
};
const page = defineTool({
  name: 'page',
  idempotent: true,
  parameters: { type: 'object', properties: { n: { type: 'integer' } } },
  run: ({ n }: { n?: number }) => `Page ${n}. ${'All work and no play makes a page. '.repeat(200)}`,
});
const read = (n: number): Move => ({ acts: [{ key: `p${n}`, name: 'page', parameters: { n } }] });
const answer: Move = { acts: [], final: 'All read.' };
const said = (text: string): Utterance => ({ parts: [{ type: 'text', text }], finish: 'stop' });
const summary: Answer = { say: said('Page 1 and page 2 were read. Left to do: the answer.') };
const agent = { tools: [page] };
const reads: readonly Answer[] = [{ move: read(1) }, { move: read(2) }, { move: read(3) }];

describe('the window of a model', () => {
  it.each([
    ['anthropic/claude-sonnet-4-5', 200_000],
    ['anthropic/claude-opus-4-1-20250805', 200_000],
    ['anthropic/claude-opus-4-6', 1_000_000],
    ['anthropic/claude-sonnet-5-5', 1_000_000],
    ['openai/gpt-4o-2024-08-06', 128_000],
    ['openai/gpt-4.1-mini', 1_047_576],
    ['openai/gpt-5-mini', 272_000],
    ['openai/gpt-5.4-mini', 272_000],
    ['openai/gpt-6-luna', 922_000],
    ['openai/o3-mini', 200_000],
    ['google/gemini-3-flash-preview', 1_048_576],
    ['openai-compatible/anthropic/claude-haiku-4-5', 200_000],
    ['openai-compatible/us.anthropic.claude-sonnet-4-5-20250929-v1:0', 200_000],
    ['openai/gpt-50', undefined],
    ['openai-compatible/qwen3', undefined],
    ['ollama/gpt-oss:20b', undefined],
  ])('is known by provider and the beginning of its name: %s', async (ref, window) => {
    expect((await createProviderModel(ref, { env: ENV })).contextWindow).toBe(window);
  });
});

describe.each(FORMATS)('compaction over %s', (format) => {
  const run = (answers: readonly Answer[], more: object = {}, summary = '') =>
    runOverHttp({ format, dialect: 'tools', answers, agent: { ...agent, ...more }, summary });

  it('goes by the tokens that the provider counted', async () => {
    const { result, of } = await run(
      [{ move: read(1) }, { move: read(2), input: 29_000 }, { move: answer }],
      { context_window: 32_000 },
      'So far, so good.',
    );
    expect(result).toMatchObject({ status: 'completed', result: 'All read.', turns: 3 });
    expect(of('prompt.compacted').length).toBeGreaterThan(0);
  });

  it('leaves a prompt alone of which the provider counts less than is estimated', async () => {
    const { result, of } = await run(
      [
        { move: read(1), input: 700 },
        { move: read(2), input: 900 },
        { move: read(3), input: 1_100 },
        { move: answer },
      ],
      { context_window: 4_500 },
    );
    expect(result).toMatchObject({ status: 'completed', turns: 4 });
    expect(of('prompt.compacted')).toEqual([]);
  });
});

it('a model of which nothing is known has 128,000 tokens', async () => {
  const run = (input: number) =>
    runOverHttp({
      format: 'openai-chat',
      dialect: 'tools',
      agent,
      answers: [
        { move: read(1) },
        { move: read(2), input },
        ...(input > 100_000 ? [summary] : []),
        { move: answer },
      ],
    });
  expect((await run(75_000)).of('prompt.compacted')).toEqual([]);
  expect((await run(120_000)).of('prompt.compacted')).toHaveLength(1);
});

/** As the servers say it, with what they say of the window. */
const REFUSALS: readonly (readonly [
  who: string,
  format: WireName,
  status: number,
  error: object | string,
])[] = [
  [
    'OpenAI',
    'openai-chat',
    400,
    {
      error: {
        message:
          "This model's maximum context length is 8192 tokens. However, your messages resulted in 9004 tokens. Please reduce the length of the messages.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    },
  ],
  [
    "OpenAI's responses",
    'openai-responses',
    400,
    {
      error: {
        message:
          'Your input exceeds the context window of this model. Please adjust your input and try again.',
        type: 'invalid_request_error',
        param: 'input',
        code: 'context_length_exceeded',
      },
    },
  ],
  [
    'Anthropic',
    'anthropic',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 9462 tokens > 8192 maximum' },
    },
  ],
  [
    'Anthropic, of too many bytes',
    'anthropic',
    413,
    { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } },
  ],
  [
    'Google',
    'google',
    400,
    {
      error: {
        code: 400,
        message: 'The input token count (9345) exceeds the maximum number of tokens allowed (8192).',
        status: 'INVALID_ARGUMENT',
      },
    },
  ],
  [
    'vLLM',
    'openai-chat',
    400,
    {
      object: 'error',
      message:
        "This model's maximum context length is 8192 tokens. However, you requested 0 output tokens and your prompt contains at least 8193 input tokens, for a total of at least 8193 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=8193)",
      type: 'BadRequestError',
      code: 400,
    },
  ],
  [
    'llama.cpp',
    'openai-chat',
    400,
    {
      error: {
        code: 400,
        message: 'request (9390 tokens) exceeds the available context size (8192 tokens), try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 9390,
        n_ctx: 8192,
      },
    },
  ],
  [
    'llama.cpp, as an error of its own',
    'openai-chat',
    500,
    { error: { code: 500, message: 'Context size has been exceeded.', type: 'server_error' } },
  ],
  [
    'Ollama',
    'openai-chat',
    400,
    { error: { message: 'prompt too long; exceeded max context length by 812 tokens', type: 'api_error' } },
  ],
  [
    'SGLang',
    'openai-chat',
    400,
    { message: "The input (9004 tokens) is longer than the model's context length (8192 tokens)." },
  ],
  [
    'Groq, of the tokens of a minute',
    'openai-chat',
    413,
    {
      error: {
        message:
          'Request too large for model `x` on tokens per minute (TPM): Limit 8192, Requested 9004, please reduce your message size and try again.',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
    },
  ],
];

/** The same in mid-stream: after the status 200, before the first word. */
const IN_STREAM: readonly (readonly [who: string, format: WireName, frame: string])[] = [
  [
    'OpenAI',
    'openai-chat',
    'data: {"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}\n\n',
  ],
  [
    "OpenAI's responses",
    'openai-responses',
    'event: error\ndata: {"type":"error","sequence_number":1,"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again.","param":"input"}}\n\n',
  ],
  [
    'Anthropic',
    'anthropic',
    'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9462 tokens > 8192 maximum"}}\n\n',
  ],
  [
    'Google',
    'google',
    'data: {"error":{"code":400,"message":"The input token count (9345) exceeds the maximum number of tokens allowed (8192).","status":"INVALID_ARGUMENT"}}\n\n',
  ],
  [
    'llama.cpp',
    'openai-chat',
    'data: {"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9390,"n_ctx":8192}}\n\n',
  ],
];

describe('a prompt that is refused as too long', () => {
  const goesOn = async (format: WireName, refusal: Answer, dialect: Dialect = 'tools') => {
    const { result, of, prompts } = await runOverHttp({
      format,
      dialect,
      agent,
      answers: [...reads, refusal, summary, { move: answer }],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'All read.', turns: 4 });
    expect(of('turn.failed')).toMatchObject([
      {
        turn: 4,
        again: true,
        error: { code: 'model_context_exceeded' },
        exceeded: { window: expect.any(Number) },
      },
    ]);
    expect(of('prompt.compacted')).toHaveLength(1);
    const [refused = '', , again = ''] = prompts.slice(reads.length);
    expect(again.length).toBeLessThan(refused.length);
    expect(again.includes('Left to do: the answer.')).toBe(true);
    expect(/broke off|exceed|context window|turn failed/i.exec(again)?.[0]).toBeUndefined();
    return of('turn.failed')[0]?.exceeded;
  };

  it.each(REFUSALS)('is compacted, and the session goes on: %s', async (_, format, status, body) => {
    const exceeded = await goesOn(format, { status, body });
    if (JSON.stringify(body).includes('8192')) expect(exceeded?.window).toBe(8192);
  });

  it.each(IN_STREAM)('is compacted where the stream says so: %s', async (_, format, frame) => {
    await goesOn(format, (response) => stream(response, [frame]));
  });

  it.each(['tags', 'step'] as const)('is compacted in %s', async (dialect) => {
    for (const [, format, status, body] of REFUSALS.slice(0, 5))
      await goesOn(format, { status, body }, dialect);
  });

  it('is compacted before the next refusal, once the provider has said what the model can read', async () => {
    const [, format, status, body] = REFUSALS[0] ?? [];
    const { result, of } = await runOverHttp({
      format: format ?? 'openai-chat',
      dialect: 'tools',
      agent,
      summary: 'So far, so good.',
      answers: [
        ...reads,
        { status: status ?? 400, body },
        ...[4, 5, 6, 7].map((n) => ({ move: read(n) })),
        { move: answer },
      ],
    });
    expect(result).toMatchObject({ status: 'completed', turns: 8 });
    expect(of('turn.failed')).toHaveLength(1);
    expect(of('prompt.compacted').length).toBeGreaterThan(1);
  });

  it.each(FORMATS)('and however short it is: the session ends, and says why (%s)', async (format) => {
    const [, , status = 400, body] = REFUSALS.find(([, each]) => each === format) ?? [];
    const refusal: Answer = { status, body: body ?? '' };
    const { result, bodies } = await runOverHttp({
      format,
      dialect: 'tools',
      agent,
      answers: [{ move: read(1) }, { move: read(2) }, refusal, ...Array.from({ length: 6 }, () => refusal)],
    });
    expect(result).toMatchObject({
      status: 'failed',
      error: {
        code: 'model_context_exceeded',
        message: expect.stringMatching(
          /^The prompt does not fit into the context window of \S+, [\d,]+ tokens: it has about [\d,]+, /,
        ),
        hint: expect.stringContaining('context_window'),
      },
    });
    expect(bodies.length).toBeLessThanOrEqual(9);
  });

  it('with nothing before it is sent once more where that cannot be, and then the session ends', async () => {
    const [, , status = 400, body] = REFUSALS[0] ?? [];
    const run = (...answers: readonly Answer[]) =>
      runOverHttp({ format: 'openai-chat', dialect: 'tools', agent, answers });
    const refusal: Answer = { status, body };
    const twice = await run(refusal, refusal);
    expect(twice.result).toMatchObject({ status: 'failed', error: { code: 'model_context_exceeded' } });
    expect(twice.bodies).toHaveLength(2);
    const once = await run(refusal, { move: answer });
    expect(once.result).toMatchObject({ status: 'completed', result: 'All read.', turns: 1 });
    expect(once.bodies[1]).toEqual(once.bodies[0]);
  });

  it('is not sent again where it fills the window, and nothing can be left out of it', async () => {
    const [, , status = 400, body] = REFUSALS[0] ?? [];
    const { result, bodies } = await runOverHttp({
      format: 'openai-chat',
      dialect: 'tools',
      agent: { ...agent, context_window: 900 },
      answers: [{ status, body }],
    });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_context_exceeded' } });
    expect(bodies).toHaveLength(1);
  });

  it('is not sent at all where it is far too long for the window of the manifest', async () => {
    const { result, bodies, of } = await runOverHttp({
      format: 'openai-chat',
      dialect: 'tags',
      agent: { ...agent, context_window: 200 },
      answers: [],
    });
    expect(result).toMatchObject({
      status: 'failed',
      error: {
        code: 'model_context_exceeded',
        message: expect.stringContaining(
          'The prompt does not fit into the context window of openai-compatible/local, 200 tokens',
        ),
      },
    });
    expect([bodies, of('turn.started')]).toEqual([[], []]);
  });
});
