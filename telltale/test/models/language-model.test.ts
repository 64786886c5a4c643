import { getEventListeners } from 'node:events';
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { FRAME_MARK, frameOf, readTurnParts } from '../../src/lib/calls.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { ModelMessage } from '../../src/models/model.ts';
import {
  fromLanguageModel,
  type LanguageModelOptions,
  toPrompt,
} from '../../src/models/providers/from-language-model.ts';
import type {
  FunctionTool,
  LanguageModel,
  LanguageModelCallOptions,
  ToolCallPart,
  ToolResultPart,
} from '../../src/models/providers/language-model.ts';
import { ask } from './collect.ts';

type Parts = (controller: ReadableStreamDefaultController<unknown>) => void;

/** A provider in memory that streams what it is told to. */
function fake(version: 'v2' | 'v3' | 'v4', parts: Parts, cancelled: () => void = () => {}) {
  const calls: LanguageModelCallOptions[] = [];
  const model = {
    specificationVersion: version,
    provider: 'fake',
    modelId: 'm',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('Only streams are asked for.')),
    doStream: async (options: LanguageModelCallOptions) => {
      calls.push(options);
      return { stream: new ReadableStream({ start: parts, cancel: cancelled }) };
    },
  } as unknown as LanguageModelV4;
  return { model, calls };
}

const open = (model: LanguageModelV4, options: Partial<LanguageModelOptions> = {}) =>
  fromLanguageModel(model, { id: 'fake/m', ...options });

const text = (delta: string) => ({ type: 'text-delta', id: '0', delta });
const usage = {
  inputTokens: { total: 10, noCache: 2, cacheRead: 5, cacheWrite: 3 },
  outputTokens: { total: 4, text: 4, reasoning: 0 },
};
const finish = (unified: string, raw?: string) => ({ type: 'finish', finishReason: { unified, raw }, usage });

const streamOf =
  (...parts: readonly unknown[]): Parts =>
  (controller) => {
    for (const part of parts) controller.enqueue(part);
    controller.close();
  };

describe('a language model of the AI SDK', () => {
  it('may be of any of its three versions', () => {
    expectTypeOf<LanguageModelV2 | LanguageModelV3 | LanguageModelV4>().toExtend<
      Parameters<typeof fromLanguageModel>[0]
    >();
  });

  it.each(['v3', 'v4'] as const)(
    'of %s tells what came from the cache and what was written to it',
    async (version) => {
      const { model } = fake(version, streamOf(text('x'), finish('stop', 'end_turn')));
      expect(await ask(open(model)).end).toEqual({
        finish: 'stop',
        usage: { input: 10, output: 4, cached: 5, written: 3 },
      });
    },
  );

  it('of v2 has plain numbers and a plain finish', async () => {
    const old = (finishReason: string) =>
      fake(
        'v2',
        streamOf(text('x'), {
          type: 'finish',
          finishReason,
          usage: { inputTokens: 10, outputTokens: 4, totalTokens: 14, cachedInputTokens: 5 },
        }),
      ).model;
    expect(await ask(open(old('stop'))).end).toEqual({
      finish: 'stop',
      usage: { input: 10, output: 4, cached: 5 },
    });
    expect(await ask(open(old('length'))).end).toMatchObject({ finish: 'length' });
    expect(await ask(open(old('unknown'))).error).toMatchObject({ code: 'model_broke_off' });
  });

  it.each([
    ['stop', 'end_turn', 'stop'],
    ['tool-calls', 'tool_use', 'stop'],
    ['other', 'pause_turn', 'stop'],
    ['length', 'max_tokens', 'length'],
    ['other', undefined, 'model_broke_off'],
    ['interrupted', undefined, 'model_broke_off'],
    ['error', undefined, 'model_broke_off'],
    ['content-filter', 'refusal', 'model_filtered'],
  ])('that finishes with %s (%s) ends as %s', async (unified, raw, expected) => {
    const { end } = ask(open(fake('v4', streamOf(finish(unified, raw))).model));
    const outcome = await end.then(
      (ended) => ended.finish,
      (error: { code: string }) => error.code,
    );
    expect(outcome).toBe(expected);
  });

  it('that gives no numbers has no usage', async () => {
    const none = {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    };
    const { model } = fake('v4', streamOf({ ...finish('stop', 'stop'), usage: none }));
    expect(await ask(open(model)).end).toEqual({ finish: 'stop' });
  });

  it('that leaves its stream open after the last part is not waited for', async () => {
    const clock = createSimulatedClock();
    const { model } = fake('v4', (controller) => controller.enqueue(finish('stop', 'stop')));
    const { end } = ask(open(model, { clock }));
    await clock.advance(200);
    expect(await end).toMatchObject({ finish: 'stop' });
    expect(clock.pending).toBe(0);
  });

  it('that ignores its signal is left at once, and its stream is cancelled', async () => {
    let isCancelled = false;
    const { model } = fake(
      'v4',
      (controller) => controller.enqueue(text('first')),
      () => {
        isCancelled = true;
      },
    );
    const { error } = ask(open(model), { onText: (_delta, abort) => queueMicrotask(abort) });
    expect(await error).toMatchObject({ code: 'model_cancelled' });
    expect(isCancelled).toBe(true);
  });

  it('whose call never answers is left on an abort, and after ten minutes', async () => {
    const clock = createSimulatedClock();
    const stuck = { ...fake('v4', () => {}).model, doStream: () => new Promise<never>(() => {}) };
    const first = ask(open(stuck, { clock }));
    first.abort();
    expect(await first.error).toMatchObject({ code: 'model_cancelled' });
    const second = ask(open(stuck, { clock }));
    await clock.advance(600_000);
    expect(await second.error).toMatchObject({
      code: 'model_timeout',
      message: 'fake/m did not start to answer within 600 s.',
    });
    expect(clock.pending).toBe(0);
  });

  it('that falls silent is left after two minutes from its last part on', async () => {
    const clock = createSimulatedClock();
    let say: (delta: string) => void = () => {};
    const { model } = fake('v4', (controller) => {
      say = (delta) => controller.enqueue(text(delta));
    });
    const { deltas, error } = ask(open(model, { clock }));
    for (let minute = 0; minute < 10; minute++) {
      await clock.advance(60_000);
      say('.');
      await new Promise((resolve) => setImmediate(resolve));
    }
    await clock.advance(119_999);
    expect(deltas).toHaveLength(10);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(await error).toMatchObject({
      code: 'model_timeout',
      message: 'fake/m stopped sending for 120 s.',
    });
  });

  it('that was left gives nothing more, though it had more ready', async () => {
    const { model } = fake('v4', streamOf(text('a'), text('b'), text('c'), finish('stop', 'stop')));
    const { deltas, error } = ask(open(model), { onText: (_delta, abort) => abort() });
    expect(await error).toMatchObject({ code: 'model_cancelled' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(deltas).toEqual(['a']);
  });

  it('that answers after it was left has its stream cancelled', async () => {
    let answer = () => {};
    let cancelled = () => {};
    const isCancelled = new Promise<void>((resolve) => {
      cancelled = resolve;
    });
    const { model } = fake('v4', () => {}, cancelled);
    const late = {
      ...model,
      doStream: (options: Parameters<LanguageModelV4['doStream']>[0]) =>
        new Promise<Awaited<ReturnType<LanguageModelV4['doStream']>>>((resolve) => {
          answer = () => resolve(model.doStream(options));
        }),
    };
    const { error, abort } = ask(open(late));
    abort();
    expect(await error).toMatchObject({ code: 'model_cancelled' });
    answer();
    await isCancelled;
  });

  it('leaves neither a timer nor a listener behind', async () => {
    const clock = createSimulatedClock();
    const { signal } = new AbortController();
    for (const last of [finish('stop', 'stop'), finish('error')]) {
      const { model } = fake('v4', streamOf(text('a'), last));
      await ask(open(model, { clock }), { signal }).end.catch(() => {});
      expect(clock.pending).toBe(0);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    }
  });

  it('that throws before it streams is reported, whatever it throws', async () => {
    const throwing = (thrown: unknown) =>
      open({
        ...fake('v4', () => {}).model,
        doStream: () => {
          throw thrown;
        },
      });
    const named = (name: string) => Object.assign(new Error('No.'), { name });
    for (const [thrown, code] of [
      [named('AI_UnsupportedFunctionalityError'), 'model_bad_request'],
      [named('AI_LoadAPIKeyError'), 'model_refused_key'],
      [named('AbortError'), 'model_broke_off'],
      [Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' }), 'model_unreachable'],
      [Object.assign(new Error('x'), { code: 'UND_ERR_HEADERS_TIMEOUT' }), 'model_timeout'],
      [Object.assign(new Error('x'), { code: 'ERR_INVALID_URL' }), 'model_broke_off'],
      ['a string', 'model_broke_off'],
      [undefined, 'model_broke_off'],
      [null, 'model_broke_off'],
    ] as const)
      expect(await ask(throwing(thrown)).error).toMatchObject({
        code,
        message: expect.not.stringContaining('answered'),
      });
  });

  it('is not blamed for what the sink throws', async () => {
    const { model } = fake('v4', streamOf(text('x'), finish('stop', 'stop')));
    const { error } = ask(open(model), {
      onText: () => {
        throw new Error('of the sink');
      },
    });
    expect(await error).toMatchObject({ message: 'of the sink' });
  });

  it('has the price and the window it is given', () => {
    const price = { input: 1, output: 2 };
    expect(open(fake('v4', () => {}).model, { price, contextWindow: 9 })).toMatchObject({
      id: 'fake/m',
      price,
      contextWindow: 9,
    });
  });
});

describe('native calls of a language model of the AI SDK', () => {
  const tools = [
    { name: 'search', description: 'Searches.', parameters: { type: 'object', properties: { q: {} } } },
  ] as const;
  const call = (toolCallId: string, input: string, more: object = {}) => ({
    type: 'tool-call',
    toolCallId,
    toolName: 'search',
    input,
    ...more,
  });
  const said = async (...parts: readonly unknown[]) => {
    const { model } = fake('v4', streamOf(...parts, finish('tool-calls', 'tool_use')));
    const { deltas, end } = ask(open(model), { tools });
    await end;
    return readTurnParts(deltas.join(''));
  };

  it.each(['v2', 'v3', 'v4'] as const)(
    'of %s are asked for and answered in its own form',
    async (version) => {
      const { model, calls } = fake(version, streamOf(text('x'), finish('stop', 'stop')));
      const messages: readonly ModelMessage[] = [
        { role: 'assistant', text: frameOf({ id: 'c', name: 'search', input: '{"q":1}' }) },
        { role: 'tool', text: 'no', answers: [{ call: 'c', name: 'search', text: 'no', failed: true }] },
      ];
      await ask(open(model), { tools, toolChoice: 'search', messages }).end;
      expect(calls[0]).toMatchObject({
        prompt: [
          { role: 'system' },
          {
            role: 'assistant',
            content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'search', input: { q: 1 } }],
          },
          {
            role: 'tool',
            content: [
              {
                type: 'tool-result',
                toolCallId: 'c',
                toolName: 'search',
                output: { type: 'error-text', value: 'no' },
              },
            ],
          },
        ],
        tools: [
          {
            type: 'function',
            name: 'search',
            description: 'Searches.',
            inputSchema: { type: 'object', properties: { q: {} } },
          },
        ],
        toolChoice: { type: 'tool', toolName: 'search' },
      });
      await ask(open(model), { tools }).end;
      expect(calls[1]?.toolChoice).toEqual({ type: 'auto' });
      await ask(open(model)).end;
      expect(calls[2]).not.toHaveProperty('tools');
      expect(calls[2]).not.toHaveProperty('toolChoice');
    },
  );

  it('are what all versions of the interface take', () => {
    expectTypeOf<Mutable<FunctionTool>>().toExtend<Offered<LanguageModelV2>>();
    expectTypeOf<Mutable<FunctionTool>>().toExtend<Offered<LanguageModelV3>>();
    expectTypeOf<Mutable<FunctionTool>>().toExtend<Offered<LanguageModelV4>>();
    expectTypeOf<Mutable<ToolResultPart>>().toExtend<Told<LanguageModelV2, 'tool'>>();
    expectTypeOf<Mutable<ToolResultPart>>().toExtend<Told<LanguageModelV3, 'tool'>>();
    expectTypeOf<Mutable<ToolResultPart>>().toExtend<Told<LanguageModelV4, 'tool'>>();
    type Call = Omit<Mutable<ToolCallPart>, 'providerOptions'>;
    expectTypeOf<Call>().toExtend<Told<LanguageModelV2, 'assistant'>>();
    expectTypeOf<Call>().toExtend<Told<LanguageModelV3, 'assistant'>>();
    expectTypeOf<Call>().toExtend<Told<LanguageModelV4, 'assistant'>>();
  });

  it('that come without deltas are frames, too, with what the provider wants back', async () => {
    expect(
      await said(text('a'), call('c', '{"q":1}', { providerMetadata: { x: { y: 'z' } } }), text('b')),
    ).toEqual([
      { type: 'text', text: 'a' },
      { type: 'call', id: 'c', name: 'search', input: '{"q":1}', meta: { x: { y: 'z' } } },
      { type: 'text', text: 'b' },
    ]);
    expect(await said(call('c', ''), call('d', '{}', { providerMetadata: {} }))).toEqual([
      { type: 'call', id: 'c', name: 'search', input: '{}' },
      { type: 'call', id: 'd', name: 'search', input: '{}' },
    ]);
  });

  it('that have come give nothing more to who has left', async () => {
    const start = (id: string) => ({ type: 'tool-input-start', id, toolName: 'search' });
    const { model } = fake(
      'v4',
      streamOf(start('c'), start('d'), call('d', '{"q":2}'), call('c', '{"q":1}'), finish('stop', 'stop')),
    );
    const { deltas, error } = ask(open(model), {
      tools,
      onText: (delta, abort) => delta.startsWith(FRAME_MARK) && !delta.includes('{') && abort(),
    });
    expect(await error).toMatchObject({ code: 'model_cancelled' });
    expect(deltas.join('')).toBe(frameOf({ id: 'c', name: 'search', input: '{"q":1}' }));
  });

  it('that are made though none were offered are words, in which nothing is a tag', async () => {
    const start = { type: 'tool-input-start', id: 'c', toolName: 'search' };
    const delta = { type: 'tool-input-delta', id: 'c', delta: '{"q":' };
    const whole = call('c', '{"q":"<action>"}');
    const { model } = fake('v4', streamOf(text('I look.'), start, delta, whole, finish('stop', 'stop')));
    const { deltas, end } = ask(open(model));
    expect(await end).toMatchObject({ finish: 'stop' });
    expect(deltas.join('')).toBe('I look.\n[called search: {"q":"\\u003caction>"}]\n');
  });

  it('that the provider runs itself are left out', async () => {
    const providerExecuted = true;
    expect(
      await said(
        { type: 'tool-input-start', id: 'c', toolName: 'web', providerExecuted },
        { type: 'tool-input-delta', id: 'c', delta: '{}' },
        { type: 'tool-input-end', id: 'c' },
        call('c', '{}', { providerExecuted }),
        { type: 'tool-result', toolCallId: 'c', toolName: 'web', result: {}, providerExecuted },
        text('done'),
      ),
    ).toEqual([{ type: 'text', text: 'done' }]);
  });

  it.each([
    ['v4', { type: 'unsupported', feature: 'tools' }],
    ['v3', { type: 'unsupported', feature: 'tool search', details: 'It is odd.' }],
    ['v2', { type: 'unsupported-setting', setting: 'tools' }],
    ['v2', { type: 'unsupported-tool', tool: {}, details: 'No\ntools.' }],
  ] as const)('of %s that are left out (%j) are model_no_tools', async (version, warning) => {
    const parts = streamOf({ type: 'stream-start', warnings: [warning] }, text('x'), finish('stop', 'stop'));
    const { deltas, error } = ask(open(fake(version, parts).model), { tools });
    expect(await error).toMatchObject({
      code: 'model_no_tools',
      retryable: false,
      message: expect.stringMatching(/^fake\/m: the provider drops native tools[.:]/),
    });
    expect(deltas).toEqual([]);
    expect(await ask(open(fake(version, parts).model)).end).toMatchObject({ finish: 'stop' });
  });

  it('that cannot be demanded are asked for all the same', async () => {
    const warnings = [{ type: 'unsupported', feature: 'toolChoice' }];
    const { model } = fake(
      'v4',
      streamOf({ type: 'stream-start', warnings }, text('x'), finish('stop', 's')),
    );
    expect(await ask(open(model), { tools, toolChoice: 'search' }).end).toMatchObject({ finish: 'stop' });
  });

  it.each([
    'registry.ollama.ai/library/gemma:2b does not support tools',
    'No endpoints found that support tool use. To learn more about provider routing, visit …',
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    'tools param requires --jinja flag',
    "This model doesn't support tool use.",
    '`tool calling` is not supported with this model',
    "Unsupported parameter: 'tools' is not supported with this model.",
    'Function calling is not enabled for models/gemma-3-27b-it',
    'tools are not supported in this model',
  ])('that a provider refuses with %j are model_no_tools', async (message) => {
    const refusing = {
      ...fake('v4', () => {}).model,
      doStream: () => Promise.reject(Object.assign(new Error(message), { statusCode: 400 })),
    };
    expect(await ask(open(refusing), { tools }).error).toMatchObject({ code: 'model_no_tools' });
    expect(await ask(open(refusing)).error).toMatchObject({ code: 'model_bad_request' });
  });

  it.each([
    'tools.0.custom.input_schema: JSON schema is invalid',
    "Invalid 'tools[0].function.name': string does not match pattern.",
    'messages.3: tool_use ids were found without tool_result blocks immediately after',
  ])('that a provider finds fault with (%j) are model_bad_request', async (message) => {
    const refusing = {
      ...fake('v4', () => {}).model,
      doStream: () => Promise.reject(Object.assign(new Error(message), { statusCode: 400 })),
    };
    expect(await ask(open(refusing), { tools }).error).toMatchObject({ code: 'model_bad_request' });
  });

  it("that the provider's package cannot make are model_no_tools", async () => {
    const thrown = Object.assign(new Error("'tools' functionality not supported."), {
      name: 'AI_UnsupportedFunctionalityError',
    });
    const refusing = { ...fake('v4', () => {}).model, doStream: () => Promise.reject(thrown) };
    expect(await ask(open(refusing), { tools }).error).toMatchObject({ code: 'model_no_tools' });
  });
});

type OptionsOf<Model extends LanguageModel> = Parameters<Model['doStream']>[0];
type Offered<Model extends LanguageModel> = NonNullable<OptionsOf<Model>['tools']>[number];
type Told<Model extends LanguageModel, Role> = Extract<
  OptionsOf<Model>['prompt'][number],
  { role: Role; content: unknown[] }
>['content'][number];

/** Without `readonly`, which the interface does not know. */
type Mutable<T> = T extends object ? { -readonly [Key in keyof T]: Mutable<T[Key]> } : T;

describe('the prompt', () => {
  const said = (messages: Parameters<typeof toPrompt>[1], isAnthropic = false) =>
    toPrompt('', messages, { isAnthropic, hasTools: false }).map(({ role, content }) =>
      typeof content === 'string'
        ? `${role}: ${content}`
        : `${role}: ${content.map((part) => (part.type === 'text' ? part.text : part.type)).join('|')}`,
    );

  it('leaves out messages without text, and joins those of one role in a row', () => {
    expect(
      said([
        { role: 'user', text: 'one' },
        { role: 'assistant', text: ' \n' },
        { role: 'user', text: 'two' },
        { role: 'assistant', text: 'three' },
      ]),
    ).toEqual(['user: one\n\ntwo', 'assistant: three']);
  });

  it('keeps white space but for assistants of Anthropic', () => {
    const messages = [
      { role: 'user', text: ' a ' },
      { role: 'assistant', text: ' b \n' },
    ] as const;
    expect(said(messages)).toEqual(['user:  a ', 'assistant:  b \n']);
    expect(said(messages, true)).toEqual(['user:  a ', 'assistant:  b']);
  });

  it('begins as the last one did when messages are added', () => {
    const messages = ['a', 'b', 'c', 'd', 'e'].map(
      (text, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', text }) as const,
    );
    expect(said(messages).slice(0, 3)).toEqual(said(messages.slice(0, 3)));
  });

  it('marks no message for the cache of others than Anthropic', () => {
    expect(
      JSON.stringify(toPrompt('s', [{ role: 'user', text: 'a' }], { isAnthropic: false, hasTools: false })),
    ).not.toContain('cacheControl');
  });
});
