import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { Model } from '../../src/models/model.ts';
import {
  createProviderModel,
  type ProviderModelOptions,
} from '../../src/models/providers/create-provider-model.ts';
import { retryAfterMs } from '../../src/models/retry.ts';
import { ask } from './collect.ts';
import { json, type ProviderServer, sse, startProviderServer } from './provider-server.ts';
import { ANTHROPIC, GOOGLE, OPENAI, WIRE_FORMATS, type WireFormat } from './wire-formats.ts';

let server: ProviderServer;
beforeEach(async () => {
  server = await startProviderServer();
});
afterEach(() => server.close());

const open = (wire: WireFormat, options: Partial<ProviderModelOptions> = {}): Promise<Model> =>
  createProviderModel(wire.ref, { env: wire.env(server.url), ...options });

const whole = (wire: WireFormat, deltas: readonly string[], finish: 'stop' | 'length' = 'stop') => [
  ...wire.start,
  ...deltas.map(wire.delta),
  ...wire.end(finish),
];

describe.each(WIRE_FORMATS.map((wire) => [wire.ref, wire] as const))('%s', (_ref, wire) => {
  it('gives text as it comes, then the finish and the usage', async () => {
    server.answer = (response) => {
      sse(response, whole(wire, ['Hel', 'lo', ' – 漢字 👍']));
      response.end();
    };
    const { deltas, end } = ask(await open(wire));
    expect(await end).toMatchObject({ finish: 'stop', usage: { input: 115, output: 7, cached: 100 } });
    expect(deltas).toEqual(['Hel', 'lo', ' – 漢字 👍']);
  });

  it('says when the answer was cut for its length', async () => {
    server.answer = (response) => {
      sse(response, whole(wire, ['Hel'], 'length'));
      response.end();
    };
    expect(await ask(await open(wire)).end).toMatchObject({ finish: 'length' });
  });

  it('hands on the first text while the rest is still to come', async () => {
    let finish = () => {};
    server.answer = (response) => {
      sse(response, [...wire.start, wire.delta('first')]);
      finish = () => {
        response.write(wire.delta(' second'));
        response.end(wire.end('stop').join(''));
      };
    };
    const { deltas, end } = ask(await open(wire), { onText: () => finish() });
    await end;
    expect(deltas.join('')).toBe('first second');
  });

  it('a connection that is cut half-way is model_broke_off, and what had come stays', async () => {
    let cut = () => {};
    server.answer = (response) => {
      sse(response, [...wire.start, wire.delta('half')]);
      cut = () => response.destroy();
    };
    const { deltas, error } = ask(await open(wire), { onText: () => cut() });
    expect(await error).toMatchObject({ code: 'model_broke_off', retryable: true });
    expect(deltas).toEqual(['half']);
  });

  it('a stream that ends without saying so is model_broke_off', async () => {
    server.answer = (response) => {
      sse(response, [...wire.start, wire.delta('half')]);
      response.end();
    };
    const { deltas, error } = ask(await open(wire));
    expect(await error).toMatchObject({ code: 'model_broke_off', retryable: true });
    expect(deltas).toEqual(['half']);
  });

  it('an error in mid-stream is what it says it is', async () => {
    server.answer = (response) => {
      sse(response, [...wire.start, wire.delta('half'), wire.overloaded]);
      response.end();
    };
    const { deltas, error } = ask(await open(wire));
    expect(await error).toMatchObject({
      code: 'model_overloaded',
      retryable: true,
      message: expect.stringMatching(/Overloaded$/),
    });
    expect(deltas).toEqual(['half']);
  });

  it.each([
    ['a frame of truncated JSON', 'data: {"type": "content_block_delta", "ind\n\n'],
    ['a frame of another shape', 'data: {"type": "content_block_delta", "choices": 7, "candidates": 7}\n\n'],
  ])('%s is model_broke_off', async (_what, frame) => {
    server.answer = (response) => {
      sse(response, [...wire.start, wire.delta('half'), frame, ...wire.end('stop')]);
      response.end();
    };
    const { deltas, error } = ask(await open(wire));
    expect(await error).toMatchObject({ code: 'model_broke_off', retryable: true });
    expect(deltas).toEqual(['half']);
  });

  it('rubbish from the first frame on is model_broke_off', async () => {
    server.answer = (response) => {
      sse(response, ['data: {{{\n\n']);
      response.end();
    };
    expect(await ask(await open(wire)).error).toMatchObject({ code: 'model_broke_off', retryable: true });
  });

  it.each([
    ['in one line', 'x'.repeat(1_000_000)],
    ['in lines without an empty one', `data: ${'x'.repeat(55)}\n`.repeat(16_000)],
    ['in lines that end in CR LF', `data: ${'x'.repeat(54)}\r\n`.repeat(16_000)],
  ])('a frame that does not end, %s, ends with a clear error and bounded memory', async (_what, piece) => {
    let sent = 0;
    server.answer = async (response) => {
      sse(response, [...wire.start, wire.delta('half'), 'data: ']);
      while (!response.destroyed && sent < 400) {
        sent++;
        if (!response.write(piece))
          await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
      }
      response.end();
    };
    const { deltas, error } = ask(await open(wire));
    expect(await error).toMatchObject({
      code: 'model_broke_off',
      retryable: false,
      message: `${wire.ref}: one frame of the stream has more than 16 MiB.`,
    });
    expect(deltas).toEqual(['half']);
    await server.clientGone;
    expect(sent).toBeLessThan(60);
  });

  it.each([
    ['whole', (frame: string) => [frame]],
    ['line by line', (frame: string) => frame.split(/(?<=\n)/)],
    ['with CR LF, cut between the two', (frame: string) => frame.replaceAll('\n', '\r\n').split(/(?<=\r)/)],
  ])('reads frames that together are far larger than one may be, %s', async (_how, pieces) => {
    const text = 'y'.repeat(100_000);
    const frames = [
      ...wire.start,
      ...Array.from({ length: 200 }, () => wire.delta(text)),
      ...wire.end('stop'),
    ];
    const bytes = frames.flatMap(pieces).map((piece) => new TextEncoder().encode(piece));
    const body = ReadableStream.from(bytes) as ReadableStream<Uint8Array>;
    const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    const { deltas, end } = ask(await open(wire, { fetch }));
    expect(await end).toMatchObject({ finish: 'stop' });
    expect(deltas.join('')).toBe(text.repeat(200));
  });

  it('asks with the global fetch of the moment', async () => {
    const model = await open(wire);
    const replaced = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('Replaced.'));
    onTestFinished(() => replaced.mockRestore());
    expect(await ask(model).error).toMatchObject({ code: 'model_broke_off' });
    expect(replaced).toHaveBeenCalledOnce();
  });

  it('a page in place of a stream points at the base URL', async () => {
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Welcome to nginx!');
    };
    expect(await ask(await open(wire)).error).toMatchObject({
      code: 'model_bad_request',
      message: expect.stringContaining(wire.ref),
      hint: expect.stringContaining('Check the base URL'),
    });
  });

  it('429 is model_rate_limited and carries retry-after, in each of its forms', async () => {
    const forms = [
      [{ 'retry-after': '7' }, 7000],
      [{ 'retry-after-ms': '250', 'retry-after': '1' }, 250],
      [{ 'retry-after': new Date(Date.UTC(2026, 0, 1, 0, 0, 30)).toUTCString() }, 30_000],
      [{}, undefined],
    ] as const;
    const model = await open(wire, { clock: createSimulatedClock(Date.UTC(2026, 0, 1)) });
    for (const [headers, expected] of forms) {
      server.answer = (response) => json(response, 429, { error: { message: 'Slow down' } }, headers);
      const error = await ask(model).error;
      expect(error).toMatchObject({ code: 'model_rate_limited', retryable: true });
      expect(retryAfterMs(error)).toBe(expected);
    }
    expect(server.requests).toHaveLength(forms.length);
  });

  it.each([
    [400, 'model_bad_request', false],
    [401, 'model_refused_key', false],
    [403, 'model_refused_key', false],
    [404, 'model_bad_request', false],
    [408, 'model_timeout', true],
    [413, 'model_context_exceeded', false],
    [500, 'model_overloaded', true],
    [502, 'model_overloaded', true],
    [503, 'model_overloaded', true],
    [504, 'model_timeout', true],
    [529, 'model_overloaded', true],
  ] as const)(
    '%i is %s, is asked once, and keeps what the provider said',
    async (status, code, retryable) => {
      server.answer = (response) =>
        json(response, status, {
          type: 'error',
          error: { type: 'x', message: 'Because of the weather', code: status, status: 'x' },
        });
      const error = await ask(await open(wire)).error;
      expect(error).toMatchObject({ code, retryable });
      expect((error as Error).message).toBe(
        `${wire.ref}: the provider responded with status ${status}: Because of the weather`,
      );
      expect(server.requests).toHaveLength(1);
    },
  );

  it('a status counts whatever letters the reason beside it is written in', async () => {
    server.answer = (response) => {
      response.socket?.end(
        'HTTP/1.1 429 später – bitte warten\r\nretry-after: 7\r\nconnection: close\r\n\r\nbusy',
      );
    };
    const error = await ask(await open(wire)).error;
    expect(error).toMatchObject({
      code: 'model_rate_limited',
      message: expect.stringContaining('429: busy'),
    });
    expect(retryAfterMs(error)).toBe(7000);
  });

  it('an error page that is not JSON is shown, clipped', async () => {
    server.answer = (response) => {
      response.writeHead(502, 'Bad Gateway', { 'content-type': 'text/html' });
      response.end(`<h1>502 Bad Gateway</h1>\u001b[31m${'x'.repeat(5000)}`);
    };
    const error = (await ask(await open(wire)).error) as Error;
    expect(error).toMatchObject({ code: 'model_overloaded' });
    expect(error.message).toContain('<h1>502 Bad Gateway</h1>');
    expect(error.message).not.toContain('\u001b');
    expect(error.message.length).toBeLessThan(800);
  });

  it('an abort half-way ends it at once and closes the connection', async () => {
    server.answer = (response) => sse(response, [...wire.start, wire.delta('first')]);
    const { deltas, error } = ask(await open(wire), { onText: (_delta, abort) => abort() });
    expect(await error).toMatchObject({ code: 'model_cancelled', retryable: false });
    await server.clientGone;
    expect(deltas).toEqual(['first']);
  });

  it('an abort before the answer closes the connection, too', async () => {
    const model = await open(wire);
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    server.answer = () => asked();
    const { error, abort } = ask(model);
    await isAsked;
    abort();
    expect(await error).toMatchObject({ code: 'model_cancelled' });
    await server.clientGone;
  });

  it('a server that does not answer is model_timeout, and is let go', async () => {
    server.answer = () => {};
    const { error } = ask(await open(wire, { firstTokenTimeoutMs: 30 }));
    expect(await error).toMatchObject({ code: 'model_timeout', retryable: true });
    await server.clientGone;
  });

  it('a stream that stalls is model_timeout, and what had come stays', async () => {
    server.answer = (response) => sse(response, [...wire.start, wire.delta('half')]);
    const { deltas, error } = ask(await open(wire, { idleTimeoutMs: 30 }));
    expect(await error).toMatchObject({ code: 'model_timeout', retryable: true });
    await server.clientGone;
    expect(deltas).toEqual(['half']);
  });

  it('nobody at the address is model_unreachable', async () => {
    const model = await open(wire);
    await server.close();
    expect(await ask(model).error).toMatchObject({
      code: 'model_unreachable',
      retryable: true,
      message: `${wire.ref}: ${server.url} cannot be reached (ECONNREFUSED).`,
    });
  });

  it('a connection that is closed before an answer is model_broke_off', async () => {
    server.answer = (response) => {
      response.destroy();
    };
    expect(await ask(await open(wire)).error).toMatchObject({ code: 'model_broke_off', retryable: true });
  });

  it('the key goes into a header and into no error', async () => {
    server.answer = (response) =>
      json(response, 401, { error: { message: 'Bad key sk-test-key', code: 401 } });
    const error = (await ask(await open(wire)).error) as Error & { hint: string };
    expect(JSON.stringify(server.requests[0]?.headers)).toContain('sk-test-key');
    expect(JSON.stringify(error) + error.stack).not.toContain('sk-test-key');
    expect(error.hint).toMatch(/^Check that [A-Z_]+_API_KEY is right and/);
  });

  it('connections are used again: the next turn pays for no handshake', async () => {
    const ports = new Set<number | undefined>();
    const turns = 6;
    server.answer = (response) => {
      ports.add(response.socket?.remotePort);
      sse(response, whole(wire, ['x']));
      response.end();
    };
    const model = await open(wire);
    for (let turn = 1; turn <= turns; turn++) await ask(model, { turn }).end;
    expect(ports.size).toBeLessThan(turns);
  });

  it('limits the answer where the request says so', async () => {
    server.answer = (response) => {
      sse(response, whole(wire, ['x']));
      response.end();
    };
    await ask(await open(wire), { maxOutputTokens: 321 }).end;
    expect(server.requests[0]?.body).toContain('321');
  });
});

describe('a prompt that is too long', () => {
  it.each([
    [
      ANTHROPIC,
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 210000 tokens > 200000 maximum',
        },
      },
    ],
    [
      OPENAI,
      400,
      {
        error: {
          message: "This model's maximum context length is 128000 tokens.",
          type: 'invalid_request_error',
          code: 'context_length_exceeded',
        },
      },
    ],
    [
      GOOGLE,
      400,
      {
        error: {
          code: 400,
          message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
  ] as const)('is model_context_exceeded', async (wire, status, body) => {
    server.answer = (response) => json(response, status, body);
    expect(await ask(await open(wire)).error).toMatchObject({
      code: 'model_context_exceeded',
      retryable: false,
    });
  });
});

/** Streams in memory pass on what they have within a few turns of the event loop. */
async function allRead(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('what only one provider says', () => {
  it('a key that Google refuses with 400 is model_refused_key', async () => {
    server.answer = (response) =>
      json(response, 400, {
        error: {
          code: 400,
          message: 'API key not valid. Please pass a valid API key.',
          status: 'INVALID_ARGUMENT',
        },
      });
    expect(await ask(await open(GOOGLE)).error).toMatchObject({ code: 'model_refused_key' });
  });

  it('the wait that Google asks for stands in the body', async () => {
    server.answer = (response) =>
      json(response, 429, {
        error: {
          code: 429,
          message: 'Quota',
          status: 'RESOURCE_EXHAUSTED',
          details: [{ retryDelay: '30s' }],
        },
      });
    expect(retryAfterMs(await ask(await open(GOOGLE)).error)).toBe(30_000);
  });

  it.each([
    [
      GOOGLE.ref,
      GOOGLE,
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.',
    ],
    [
      OPENAI.ref,
      OPENAI,
      'Rate limit reached for requests per min. Please try again in 20s. You can increase it by adding a payment method at https://platform.openai.com/account/billing.',
    ],
  ])(
    'a limit of a minute is waited for, though %s points to the billing page with it',
    async (_ref, wire, message) => {
      server.answer = (response) =>
        json(response, 429, {
          error: {
            code: wire === GOOGLE ? 429 : 'rate_limit_exceeded',
            message,
            status: 'RESOURCE_EXHAUSTED',
            details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '26s' }],
          },
        });
      const error = await ask(await open(wire)).error;
      expect(error).toMatchObject({ code: 'model_rate_limited', retryable: true });
      expect(retryAfterMs(error)).toBe(26_000);
    },
  );

  it('an account without credit is not asked again', async () => {
    server.answer = (response) =>
      json(response, 429, {
        error: {
          message: 'You exceeded your current quota',
          type: 'insufficient_quota',
          code: 'insufficient_quota',
        },
      });
    expect(await ask(await open(OPENAI)).error).toMatchObject({
      code: 'model_rate_limited',
      retryable: false,
    });
  });

  it('Anthropic that is overloaded says so in a stream that began well', async () => {
    server.answer = (response) => {
      sse(response, [ANTHROPIC.overloaded]);
      response.end();
    };
    expect(await ask(await open(ANTHROPIC)).error).toMatchObject({
      code: 'model_overloaded',
      retryable: true,
    });
  });

  it("Anthropic's pings keep a stream alive that says nothing", async () => {
    const clock = createSimulatedClock();
    let write: (frame: string) => void = () => {};
    let close = () => {};
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        write = (frame) => controller.enqueue(new TextEncoder().encode(frame));
        close = () => controller.close();
      },
    });
    const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    const { deltas, end } = ask(await open(ANTHROPIC, { clock, fetch }));
    for (const frame of ANTHROPIC.start) write(frame);
    for (let ping = 0; ping < 5; ping++) {
      await allRead();
      await clock.advance(100_000);
      write('event: ping\ndata: {"type": "ping"}\n\n');
    }
    await allRead();
    for (const frame of [ANTHROPIC.delta('late'), ...ANTHROPIC.end('stop')]) write(frame);
    close();
    await end;
    expect(deltas).toEqual(['late']);
  });

  it('an answer that a filter stopped is model_filtered', async () => {
    server.answer = (response) => {
      sse(response, [
        ...OPENAI.start,
        OPENAI.delta('half'),
        OPENAI.end('stop')[0]?.replace('"stop"', '"content_filter"') ?? '',
      ]);
      response.end();
    };
    expect(await ask(await open(OPENAI)).error).toMatchObject({ code: 'model_filtered', retryable: false });
  });

  it('reasoning goes to its own place', async () => {
    const reasoning = OPENAI.delta('hm').replace('"content"', '"reasoning_content"');
    server.answer = (response) => {
      sse(response, [...OPENAI.start, reasoning, OPENAI.delta('four'), ...OPENAI.end('stop')]);
      response.end();
    };
    const model = await createProviderModel('ollama/qwen3', { env: { OLLAMA_BASE_URL: server.url } });
    const { deltas, reasoning: thought, end } = ask(model);
    await end;
    expect([thought, deltas]).toEqual([['hm'], ['four']]);
  });
});

describe('the request', () => {
  const messages = [
    { role: 'user', text: 'one' },
    { role: 'assistant', text: 'two  \n' },
    { role: 'user', text: 'three' },
  ] as const;

  const bodyFor = async (wire: WireFormat) => {
    server.answer = (response) => {
      sse(response, whole(wire, ['x']));
      response.end();
    };
    await ask(await open(wire), { messages }).end;
    return JSON.parse(server.requests[0]?.body ?? '') as Record<string, unknown>;
  };

  it('to Anthropic marks the system prompt and the last message for the cache', async () => {
    const mark = { cache_control: { type: 'ephemeral' } };
    expect(await bodyFor(ANTHROPIC)).toMatchObject({
      system: [{ type: 'text', text: 'You are terse.', ...mark }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'one' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'two' }] },
        { role: 'user', content: [{ type: 'text', text: 'three', ...mark }] },
      ],
      stream: true,
    });
    expect(server.requests[0]?.body.match(/cache_control/g)).toHaveLength(2);
    expect(server.requests[0]?.url).toBe('/v1/messages');
  });

  it('to a gateway of OpenAI is one of chat completions', async () => {
    expect(await bodyFor(OPENAI)).toMatchObject({
      messages: [
        { role: 'system', content: 'You are terse.' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two  \n' },
        { role: 'user', content: 'three' },
      ],
      stream_options: { include_usage: true },
    });
    expect(server.requests[0]?.url).toBe('/v1/chat/completions');
  });

  it('to Google has the system prompt as its instruction', async () => {
    expect(await bodyFor(GOOGLE)).toMatchObject({
      systemInstruction: { parts: [{ text: 'You are terse.' }] },
    });
    expect(server.requests[0]?.url).toBe('/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
  });
});
