import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FRAME_MARK, frameOf, openFrame, readTurnParts } from '../../src/lib/calls.ts';
import type { ModelTool } from '../../src/models/model.ts';
import { createProviderModel } from '../../src/models/providers/create-provider-model.ts';
import {
  ANTHROPIC_CALLS,
  CALL_WIRE_FORMATS,
  type CallWireFormat,
  COMPATIBLE_CALLS,
  OPENAI_CALLS,
} from './call-wire-formats.ts';
import { type Asked, ask } from './collect.ts';
import { json, type ProviderServer, sse, startProviderServer } from './provider-server.ts';

let server: ProviderServer;
beforeEach(async () => {
  server = await startProviderServer();
});
afterEach(() => server.close());

const TOOLS: readonly ModelTool[] = ['search', 'respond'].map((name) => ({
  name,
  description: `What ${name} does.`,
  parameters: { type: 'object', properties: { query: { type: 'string' } } },
}));

async function asked(wire: CallWireFormat, request: Asked = {}) {
  const toServer: typeof fetch = (input, init) =>
    fetch(String(input).replace('https://api.openai.com', server.url), init);
  const model = await createProviderModel(wire.ref, {
    env: wire.env(server.url),
    ...(wire.isAtHome ? { fetch: toServer } : {}),
  });
  return ask(model, { tools: TOOLS, ...request });
}

/** Answers the next requests with these frames, and ends. */
const stream = (...frames: readonly (string | readonly string[])[]) => {
  server.answer = (response) => {
    sse(response, frames.flat());
    response.end();
  };
};

/** A whole call in pieces. */
const call = (wire: CallWireFormat, index: number, id: string, name: string, pieces: readonly string[]) => [
  ...wire.begin(index, id, name),
  ...pieces.map((piece) => wire.delta(index, piece)),
  ...wire.done(index, id, name, pieces.join('')),
];

/** What the provider says of a call as such, which is not looked at here. */
const withoutMeta = (text: string) =>
  readTurnParts(text).map((part) => (part.type === 'call' ? { ...part, meta: undefined } : part));

const search = (input: string, id = 'call_1') => ({
  type: 'call',
  id,
  name: 'search',
  input,
  meta: undefined,
});

describe.each(CALL_WIRE_FORMATS.map((wire) => [wire.name, wire] as const))('%s', (_name, wire) => {
  it('a call is a frame behind the prose before it, and its response ends well', async () => {
    stream(
      wire.start,
      wire.text('Let me see.'),
      call(wire, 0, 'call_1', 'search', ['{"que', 'ry":"x"}']),
      wire.end('calls'),
    );
    const { deltas, end } = await asked(wire);
    expect(await end).toMatchObject({ finish: 'stop' });
    expect(withoutMeta(deltas.join(''))).toEqual([
      { type: 'text', text: 'Let me see.' },
      search('{"query":"x"}'),
    ]);
  });

  it('a frame closes as soon as the input is complete, long before the response ends', async () => {
    let seen = () => {};
    const isSeen = new Promise<void>((resolve) => {
      seen = resolve;
    });
    let isEnded = false;
    server.answer = async (response) => {
      sse(response, [...wire.start, ...call(wire, 0, 'call_1', 'search', ['{"query"', ':"x"}'])]);
      await isSeen;
      for (const frame of [...call(wire, 1, 'call_2', 'respond', ['{"text":"y"}']), ...wire.end('calls')])
        response.write(frame);
      isEnded = true;
      response.end();
    };
    let text = '';
    const { deltas, end } = await asked(wire, {
      onText: (delta) => {
        text += delta;
        if (isEnded || readTurnParts(text).at(-1)?.type !== 'call') return;
        seen();
      },
    });
    await end;
    expect(withoutMeta(deltas.join(''))).toEqual([
      search('{"query":"x"}'),
      { ...search('{"text":"y"}', 'call_2'), name: 'respond' },
    ]);
  });

  it('an input streams on as it comes, while it is written', async () => {
    let goOn = () => {};
    server.answer = (response) => {
      sse(response, [...wire.start, ...wire.begin(0, 'call_1', 'respond'), wire.delta(0, '{"text":"Hel')]);
      goOn = () => {
        for (const frame of [wire.delta(0, 'lo"}'), ...wire.done(0, 'call_1', 'respond', '{"text":"Hello"}')])
          response.write(frame);
        response.end(wire.end('calls').join(''));
      };
    };
    const { deltas, end } = await asked(wire, { onText: (delta) => delta.includes('Hel') && goOn() });
    await end;
    expect(deltas.slice(0, 2)).toEqual([openFrame('call_1', 'respond'), '{"text":"Hel']);
  });

  it('an input may be cut anywhere: in escapes, in characters, a unit at a time', async () => {
    const input = '{"query":"\\"}{ \\u00e9\\\\ 👍🏳️‍🌈 漢","list":[{"a":"]}"}],"n":1.5e3} ';
    stream(wire.start, call(wire, 0, 'call_1', 'search', input.split('')), wire.end('calls'));
    const { deltas, end } = await asked(wire);
    await end;
    expect(deltas.filter((delta) => /\p{Surrogate}/u.test(delta))).toEqual([]);
    const [part] = withoutMeta(deltas.join(''));
    expect(part).toEqual(search(part?.type === 'call' ? part.input : ''));
    expect(part?.type === 'call' && part.input.trimEnd()).toBe(input.trimEnd());
  });

  it('several calls are frames behind each other', async () => {
    const inputs = ['{"a":1}', '{"b":{"c":[]}}', '{"d":"}"}'];
    stream(
      wire.start,
      inputs.flatMap((input, index) => call(wire, index, `call_${index}`, 'search', input.split(/(?<=:)/))),
      wire.end('calls'),
    );
    const { deltas, end } = await asked(wire);
    await end;
    expect(withoutMeta(deltas.join(''))).toEqual(
      inputs.map((input, index) => search(input, `call_${index}`)),
    );
  });

  it('an empty input is {}', async () => {
    stream(wire.start, call(wire, 0, 'call_1', 'search', []), wire.end('calls'));
    const { deltas, end } = await asked(wire);
    await end;
    expect(withoutMeta(deltas.join(''))).toEqual([search('{}')]);
  });

  it.each([
    ['ends', (response: { end(): void }) => response.end()],
    ['is cut', (response: { destroy(): void }) => response.destroy()],
  ])('a stream that %s inside an input is model_broke_off, and leaves the frame open', async (_how, stop) => {
    let cut = () => {};
    server.answer = (response) => {
      sse(response, [
        ...wire.start,
        ...call(wire, 0, 'call_1', 'search', ['{"a":1}']),
        ...wire.begin(1, 'call_2', 'search'),
        wire.delta(1, '{"query": "ha'),
      ]);
      cut = () => stop(response);
    };
    const { deltas, error } = await asked(wire, { onText: (delta) => delta.includes('ha') && cut() });
    expect(await error).toMatchObject({ code: 'model_broke_off', retryable: true });
    expect(withoutMeta(deltas.join(''))).toEqual([search('{"a":1}'), { type: 'broken', name: 'search' }]);
  });

  it('an input that the length of the answer cut off leaves its frame open', async () => {
    stream(wire.start, call(wire, 0, 'call_1', 'search', ['{"query": "ha']).slice(0, 2), wire.end('length'));
    const { deltas, end } = await asked(wire);
    expect(await end).toMatchObject({ finish: 'length' });
    expect(withoutMeta(deltas.join(''))).toEqual([{ type: 'broken', name: 'search' }]);
  });

  it('prose and inputs with a mark in them begin and end no frame', async () => {
    stream(
      wire.start,
      wire.text(`a${FRAME_MARK}b`),
      call(wire, 0, 'call_1', 'search', [`{"query":"${FRAME_MARK}"}`]),
      wire.end('calls'),
    );
    const { deltas, end } = await asked(wire);
    await end;
    expect(withoutMeta(deltas.join(''))).toEqual([
      { type: 'text', text: 'a\ufffdb' },
      search('{"query":"\ufffd"}'),
    ]);
  });

  it('the request offers the tools, and leaves it to the model', async () => {
    stream(wire.start, wire.text('x'), wire.end('calls'));
    await (await asked(wire)).end;
    const body = server.requests[0]?.body ?? '';
    for (const { name, description } of TOOLS) {
      expect(body).toContain(JSON.stringify(name));
      expect(body).toContain(description);
    }
    expect(body).toContain('"properties":{"query":{"type":"string"}}');
    expect(JSON.parse(body).tool_choice).toEqual(wire === ANTHROPIC_CALLS ? { type: 'auto' } : 'auto');
  });

  it('without tools there is no word of them in the request', async () => {
    stream(wire.start, wire.text('x'), wire.end('calls'));
    await (await asked(wire, { tools: [] })).end;
    expect(server.requests[0]?.body).not.toContain('tool');
  });

  it('a tool that must be called is demanded', async () => {
    stream(wire.start, wire.text('x'), wire.end('calls'));
    await (await asked(wire, { toolChoice: 'respond' })).end;
    expect(JSON.parse(server.requests[0]?.body ?? '').tool_choice).toEqual(
      wire === ANTHROPIC_CALLS
        ? { type: 'tool', name: 'respond', disable_parallel_tool_use: true }
        : wire.isAtHome
          ? { type: 'function', name: 'respond' }
          : { type: 'function', function: { name: 'respond' } },
    );
  });

  it('a server that cannot do tools is model_no_tools', async () => {
    server.answer = (response) =>
      json(response, 400, {
        type: 'error',
        error: { type: 'api_error', message: 'gemma:2b does not support tools', code: null },
      });
    expect(await (await asked(wire)).error).toMatchObject({
      code: 'model_no_tools',
      retryable: false,
      message: `${wire.ref}: the provider responded with status 400: gemma:2b does not support tools`,
      hint: expect.stringContaining('dialect: tags'),
    });
    expect(await (await asked(wire, { tools: [] })).error).toMatchObject({ code: 'model_bad_request' });
  });
});

describe.each([OPENAI_CALLS, COMPATIBLE_CALLS].map((wire) => [wire.name, wire] as const))(
  'calls of %s that come interleaved',
  (_name, wire) => {
    it('are frames that never mix, each with its own input', async () => {
      stream(
        wire.start,
        wire.begin(0, 'call_0', 'search'),
        wire.begin(1, 'call_1', 'search'),
        wire.delta(0, '{"a"'),
        wire.delta(1, '{"b"'),
        wire.delta(0, ':1'),
        wire.delta(1, ':2}'),
        wire.text('meanwhile'),
        wire.begin(2, 'call_2', 'search'),
        wire.delta(2, '{"c":'),
        wire.delta(0, '}'),
        wire.delta(2, '3}'),
        wire.end('calls'),
      );
      const { deltas, end } = await asked(wire);
      await end;
      expect(deltas.join('')).toBe(
        frameOf({ id: 'call_0', name: 'search', input: '{"a":1}' }) +
          frameOf({ id: 'call_1', name: 'search', input: '{"b":2}' }) +
          'meanwhile' +
          frameOf({ id: 'call_2', name: 'search', input: '{"c":3}' }),
      );
    });

    it('a complete one goes as soon as the open frame is closed, before one that is still written', async () => {
      let goOn = () => {};
      server.answer = (response) => {
        sse(response, [
          ...wire.start,
          ...wire.begin(0, 'call_0', 'search'),
          ...wire.begin(1, 'call_1', 'search'),
          ...wire.begin(2, 'call_2', 'search'),
          wire.delta(1, '{"b"'),
          wire.delta(2, '{"c":3}'),
          wire.delta(0, '{"a":1}'),
        ]);
        goOn = () => response.end([wire.delta(1, ':2}'), ...wire.end('calls')].join(''));
      };
      const { deltas, end } = await asked(wire, {
        onText: (delta) => {
          if (delta.includes('{"c":3}')) goOn();
        },
      });
      await end;
      expect(withoutMeta(deltas.join(''))).toEqual([
        search('{"a":1}', 'call_0'),
        search('{"c":3}', 'call_2'),
        search('{"b":2}', 'call_1'),
      ]);
    });

    it('an empty object may yet be followed by the real input, so it waits for what comes next', async () => {
      stream(
        wire.start,
        wire.begin(0, 'call_0', 'search'),
        wire.delta(0, '{}'),
        call(wire, 1, 'call_1', 'search', ['{"a":1}']),
        wire.end('calls'),
      );
      const { deltas, end } = await asked(wire);
      await end;
      expect(withoutMeta(deltas.join(''))).toEqual([search('{}', 'call_0'), search('{"a":1}', 'call_1')]);
    });
  },
);

describe('a call that the provider signs', () => {
  const frame = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
  const bodies = () => server.requests.map(({ body }) => JSON.parse(body));

  /** Asks, and asks again with the answer of the call. */
  async function twice(wire: Pick<CallWireFormat, 'ref' | 'env'>) {
    const model = await createProviderModel(wire.ref, { env: wire.env(server.url) });
    const task = { role: 'user', text: 'task' } as const;
    const first = ask(model, { messages: [task], tools: TOOLS });
    await first.end;
    const text = first.deltas.join('');
    const [part] = readTurnParts(text);
    if (part?.type !== 'call') throw new Error(`There is no call in ${text}`);
    const answers = [{ call: part.id, name: part.name, text: 'found' }];
    const messages = [task, { role: 'assistant', text }, { role: 'tool', text: 'found', answers }] as const;
    await ask(model, { messages, tools: TOOLS }).end;
    return part;
  }

  it('by Google is given back signed', async () => {
    const functionCall = { name: 'search', args: { query: 'x' } };
    stream(
      frame({
        candidates: [
          {
            content: { role: 'model', parts: [{ functionCall, thoughtSignature: 'c2ln' }] },
            finishReason: 'STOP',
          },
        ],
      }),
    );
    const part = await twice({
      ref: 'google/gemini-2.5-flash',
      env: (url) => ({ GOOGLE_GENERATIVE_AI_API_KEY: 'k', GOOGLE_GENERATIVE_AI_BASE_URL: url }),
    });
    expect(part).toMatchObject({ name: 'search', input: '{"query":"x"}' });
    expect(bodies()[1].contents).toMatchObject([
      { role: 'user' },
      { role: 'model', parts: [{ functionCall, thoughtSignature: 'c2ln' }] },
      { role: 'user', parts: [{ functionResponse: { name: 'search' } }] },
    ]);
    expect(bodies()[0].toolConfig).toEqual({ functionCallingConfig: { mode: 'AUTO' } });
  });

  it('by Gemini behind an OpenAI-compatible address is given back signed', async () => {
    const extra_content = { google: { thought_signature: 'sig' } };
    stream(
      COMPATIBLE_CALLS.start,
      frame({
        id: 'c1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [
                {
                  index: 0,
                  id: 'c',
                  type: 'function',
                  function: { name: 'search', arguments: '{"a":1}' },
                  extra_content,
                },
              ],
            },
            finish_reason: null,
          },
        ],
      }),
      COMPATIBLE_CALLS.end('calls'),
    );
    await twice(COMPATIBLE_CALLS);
    expect(bodies()[1].messages[2].tool_calls).toMatchObject([{ id: 'c', extra_content }]);
  });
});
