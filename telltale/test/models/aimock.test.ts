import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTurnParts } from '../../src/lib/calls.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { openModel } from '../../src/models/open-model.ts';
import { retryAfterMs } from '../../src/models/retry.ts';
import { ask } from './collect.ts';

const mock = new LLMock({ port: 0, host: '127.0.0.1', chunkSize: 5 });
const TEXT = 'Hello there, this is a mock.';

beforeAll(async () => {
  mock.onMessage('hello', { content: TEXT });
  mock.onMessage('think', { content: 'four', reasoning: 'two and two' });
  mock.onMessage('break', { content: TEXT }, { truncateAfterChunks: 3 });
  mock.onMessage('limited', {
    error: { message: 'Slow down', type: 'rate_limit_error' },
    status: 429,
    retryAfter: 3,
  });
  mock.on(
    { userMessage: 'look it up', hasToolResult: false },
    {
      content: TEXT,
      toolCalls: [
        { id: 'call_a', name: 'search', arguments: '{"query":"x","top":3}' },
        { id: 'call_b', name: 'search', arguments: '{"query":"y"}' },
      ],
    },
  );
  mock.on({ toolResultContains: 'nothing' }, { content: 'There is nothing.' });
  await mock.start();
});
afterAll(() => mock.stop());

/** OpenAI's own address, as far as the package knows: the responses API is asked there. */
const toMock: typeof fetch = (input, init) =>
  fetch(String(input).replace('https://api.openai.com', mock.url), init);

const PEERS = [
  ['anthropic/claude-sonnet-4-5', '/v1/messages'],
  ['openai/gpt-4o', '/v1/chat/completions'],
  ['openai/gpt-4o over responses', '/v1/responses'],
  ['openai-compatible/local', '/v1/chat/completions'],
  ['google/gemini-2.5-flash', '/v1beta/models/gemini-2.5-flash:streamGenerateContent'],
] as const;

const open = (name: string) => {
  const [ref = '', over] = name.split(' over ');
  const bases = {
    ANTHROPIC_BASE_URL: mock.url,
    OPENAI_COMPATIBLE_BASE_URL: mock.url,
    GOOGLE_GENERATIVE_AI_BASE_URL: mock.url,
    ...(over === undefined ? { OPENAI_BASE_URL: `${mock.url}/v1/` } : {}),
  };
  const keys = { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k', GOOGLE_GENERATIVE_AI_API_KEY: 'k' };
  return openModel(ref, {
    env: { ...keys, ...bases },
    folder: '/',
    clock: createSystemClock(),
    ...(over === undefined ? {} : { fetch: toMock }),
  });
};

const user = (text: string) => ({ messages: [{ role: 'user', text }] as const });

describe.each(PEERS)('a peer that speaks as %s', (name, path) => {
  it('is understood', async () => {
    const { deltas, end } = ask(await open(name), user('hello'));
    expect(await end).toMatchObject({
      finish: 'stop',
      usage: { input: expect.any(Number), output: expect.any(Number) },
    });
    expect(deltas.join('')).toBe(TEXT);
    expect(deltas.length).toBeGreaterThan(3);
    expect(mock.getLastRequest()?.path).toContain(path);
  });

  it('that breaks off half-way is model_broke_off', async () => {
    const { deltas, error } = ask(await open(name), user('break'));
    expect(await error).toMatchObject({ code: 'model_broke_off', retryable: true });
    expect(TEXT.startsWith(deltas.join(''))).toBe(true);
    expect(deltas.join('')).not.toBe(TEXT);
  });

  it('that limits the rate says when to come back, and is asked once', async () => {
    mock.clearRequests();
    const error = await ask(await open(name), user('limited')).error;
    expect(error).toMatchObject({ code: 'model_rate_limited', retryable: true });
    expect((error as Error).message).toContain('Slow down');
    expect(retryAfterMs(error)).toBe(3000);
    expect(mock.getRequests()).toHaveLength(1);
  });

  it('calls tools, and goes on with their answers', async () => {
    const model = await open(name);
    const tools = [
      { name: 'search', description: 'Searches.', parameters: { type: 'object', properties: {} } },
    ];
    const task = { role: 'user', text: 'look it up' } as const;
    const first = ask(model, { messages: [task], tools });
    expect(await first.end).toMatchObject({ finish: 'stop' });
    const said = first.deltas.join('');
    const calls = readTurnParts(said).flatMap((part) => (part.type === 'call' ? [part] : []));
    expect(calls.map(({ input }) => JSON.parse(input))).toEqual([{ query: 'x', top: 3 }, { query: 'y' }]);
    expect(readTurnParts(said)[0]).toEqual({ type: 'text', text: TEXT });
    const answers = calls.map(({ id, name: tool }) => ({ call: id, name: tool, text: 'found nothing' }));
    const second = ask(model, {
      turn: 2,
      messages: [task, { role: 'assistant', text: said }, { role: 'tool', text: 'found nothing', answers }],
      tools,
    });
    expect(await second.end).toMatchObject({ finish: 'stop' });
    expect(second.deltas.join('')).toBe('There is nothing.');
    const body = JSON.stringify(mock.getLastRequest()?.body);
    for (const { id } of calls) expect(body.split(JSON.stringify(id))).toHaveLength(3);
  });

  it('can be abandoned half-way', async () => {
    const { deltas, error } = ask(await open(name), { ...user('hello'), onText: (_delta, abort) => abort() });
    expect(await error).toMatchObject({ code: 'model_cancelled' });
    expect(deltas).toHaveLength(1);
  });
});

it("Anthropic's thinking goes to its own place", async () => {
  const { deltas, reasoning, end } = ask(await open('anthropic/claude-sonnet-4-5'), user('think'));
  await end;
  expect([reasoning.join(''), deltas.join('')]).toEqual(['two and two', 'four']);
});

it('OpenAI is told not to keep the conversation', async () => {
  let body = '';
  const seeing: typeof fetch = (input, init) => {
    body = String(init?.body);
    return toMock(input, init);
  };
  const env = { OPENAI_API_KEY: 'k' };
  const clock = createSystemClock();
  await ask(await openModel('openai/gpt-5', { env, folder: '/', clock, fetch: seeing }), user('hello')).end;
  expect(JSON.parse(body)).toMatchObject({ store: false, stream: true });
});
