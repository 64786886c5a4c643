import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRuntime, defineAgent, defineTool, type ModelObject } from '../../src/index.ts';
import { checkRequest, formatOf } from '../wire/check-request.ts';
import { type ProviderServer, sse, startProviderServer } from './provider-server.ts';

let server: ProviderServer;
beforeEach(async () => {
  server = await startProviderServer();
});
afterEach(() => server.close());

const event = (type: string, data: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

/** Frames of an answer that reasons, says a word, and calls a tool. */
interface Thinker {
  readonly name: string;
  readonly model: (url: string) => ModelObject;
  readonly answer: (turn: number, text: string | undefined, call: Call | undefined) => readonly string[];
  /** What the body of a later request holds of turn 1, in its place. */
  readonly returned: (body: Body, called: boolean) => unknown;
  readonly expected: (called: boolean) => unknown;
}

interface Call {
  readonly name: string;
  readonly input: object;
}

interface Body {
  readonly messages: readonly {
    readonly role: string;
    readonly content: unknown;
    readonly reasoning_content?: string;
  }[];
  readonly input: readonly { readonly type?: string; readonly role?: string; readonly id?: string }[];
  readonly contents: readonly { readonly role: string; readonly parts: readonly unknown[] }[];
}

const item = (index: number, value: object) => ({ output_index: index, item: value });

const THINKERS: readonly Thinker[] = [
  {
    name: 'Anthropic, whose thinking is signed or redacted',
    model: (url) => createAnthropic({ apiKey: 'k', baseURL: `${url}/v1` })('claude-sonnet-4-5'),
    answer: (turn, text, call) => {
      const blocks: string[] = [];
      let index = 0;
      const block = (start: object, ...deltas: object[]) => {
        blocks.push(event('content_block_start', { index, content_block: start }));
        for (const delta of deltas) blocks.push(event('content_block_delta', { index, delta }));
        blocks.push(event('content_block_stop', { index: index++ }));
      };
      block(
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: `Thought ${turn}.` },
        { type: 'signature_delta', signature: `sig${turn}` },
      );
      block({ type: 'redacted_thinking', data: `secret${turn}` });
      if (text !== undefined) block({ type: 'text', text: '' }, { type: 'text_delta', text });
      if (call !== undefined)
        block(
          { type: 'tool_use', id: `toolu_${turn}`, name: call.name, input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify(call.input) },
        );
      return [
        event('message_start', {
          message: {
            id: `m${turn}`,
            type: 'message',
            role: 'assistant',
            model: 'm',
            content: [],
            stop_reason: null,
            usage: { input_tokens: 10, output_tokens: 1 },
          },
        }),
        ...blocks,
        event('message_delta', {
          delta: { stop_reason: call === undefined ? 'end_turn' : 'tool_use', stop_sequence: null },
          usage: { output_tokens: 7 },
        }),
        event('message_stop', {}),
      ];
    },
    returned: ({ messages }) => {
      const first = messages.find(({ role }) => role === 'assistant');
      return ((first?.content ?? []) as { readonly type: string }[]).filter(({ type }) =>
        type.endsWith('thinking'),
      );
    },
    expected: () => [
      { type: 'thinking', thinking: 'Thought 1.', signature: 'sig1' },
      { type: 'redacted_thinking', data: 'secret1' },
    ],
  },
  {
    name: "OpenAI's responses, whose reasoning is encrypted",
    model: (url) => createOpenAI({ apiKey: 'k', baseURL: `${url}/v1` }).responses('gpt-5'),
    answer: (turn, text, call) => {
      const response = { id: `resp_${turn}`, object: 'response', created_at: 1, model: 'gpt-5', output: [] };
      const reasoning = { type: 'reasoning', id: `rs_${turn}`, summary: [] };
      const message = { type: 'message', id: `msg_${turn}`, role: 'assistant', content: [] };
      const args = JSON.stringify(call?.input);
      const fn = { type: 'function_call', id: `fc_${turn}`, call_id: `call_${turn}`, name: call?.name };
      const summary = { item_id: `rs_${turn}`, output_index: 0, summary_index: 0 };
      return [
        event('response.created', { response }),
        event('response.output_item.added', item(0, { ...reasoning, encrypted_content: null })),
        event('response.reasoning_summary_part.added', {
          ...summary,
          part: { type: 'summary_text', text: '' },
        }),
        event('response.reasoning_summary_text.delta', { ...summary, delta: `Thought ${turn}.` }),
        event('response.reasoning_summary_part.done', {
          ...summary,
          part: { type: 'summary_text', text: '' },
        }),
        event('response.output_item.done', item(0, { ...reasoning, encrypted_content: `enc${turn}` })),
        ...(text === undefined
          ? []
          : [
              event('response.output_item.added', item(1, { ...message, status: 'in_progress' })),
              event('response.output_text.delta', {
                item_id: `msg_${turn}`,
                output_index: 1,
                content_index: 0,
                delta: text,
              }),
              event('response.output_item.done', item(1, { ...message, status: 'completed' })),
            ]),
        ...(call === undefined
          ? []
          : [
              event('response.output_item.added', item(2, { ...fn, arguments: '', status: 'in_progress' })),
              event('response.function_call_arguments.delta', {
                item_id: fn.id,
                output_index: 2,
                delta: args,
              }),
              event('response.output_item.done', item(2, { ...fn, arguments: args, status: 'completed' })),
            ]),
        event('response.completed', {
          response: {
            ...response,
            usage: { input_tokens: 10, output_tokens: 7, output_tokens_details: { reasoning_tokens: 5 } },
          },
        }),
      ];
    },
    returned: ({ input }) => {
      const at = input.findIndex(({ type }) => type === 'reasoning');
      return input
        .slice(at, at + 2)
        .map(({ type, role, ...rest }) => (type === 'reasoning' ? rest : (type ?? role)));
    },
    expected: (called) => [
      { id: 'rs_1', encrypted_content: 'enc1', summary: [{ type: 'summary_text', text: 'Thought 1.' }] },
      called ? 'function_call' : 'assistant',
    ],
  },
  {
    name: 'Google, which signs texts and calls',
    model: (url) => createGoogleGenerativeAI({ apiKey: 'k', baseURL: `${url}/v1beta` })('gemini-2.5-flash'),
    answer: (turn, text, call) => {
      const chunk = (part: object, more: object = {}) =>
        data({ candidates: [{ content: { role: 'model', parts: [part] }, index: 0, ...more }] });
      return [
        chunk({ text: `Thought ${turn}.`, thought: true }),
        ...(text === undefined
          ? []
          : [chunk({ text, ...(call === undefined ? { thoughtSignature: `c2ln${turn}` } : {}) })]),
        ...(call === undefined
          ? []
          : [
              chunk({ functionCall: { name: call.name, args: call.input }, thoughtSignature: `c2ln${turn}` }),
            ]),
        data({
          candidates: [{ content: { role: 'model', parts: [] }, index: 0, finishReason: 'STOP' }],
          usageMetadata: {
            promptTokenCount: 10,
            candidatesTokenCount: 2,
            thoughtsTokenCount: 5,
            totalTokenCount: 17,
          },
        }),
      ];
    },
    returned: ({ contents }) =>
      (
        (contents.find(({ role }) => role === 'model')?.parts ?? []) as {
          readonly thoughtSignature?: string;
        }[]
      ).flatMap(({ thoughtSignature }) => thoughtSignature ?? []),
    expected: () => ['c2ln1'],
  },
  {
    name: 'a server like DeepSeek, which wants the reasoning back that led to calls',
    model: (url) =>
      createOpenAICompatible({ name: 'local', baseURL: `${url}/v1`, includeUsage: true })('deepseek'),
    answer: (turn, text, call) => {
      const chunk = (delta: object, finish: string | null = null) =>
        data({
          id: 'c1',
          object: 'chat.completion.chunk',
          created: 1,
          model: 'm',
          choices: [{ index: 0, delta, finish_reason: finish }],
        });
      return [
        chunk({ role: 'assistant', reasoning_content: `Thought ${turn}.` }),
        ...(text === undefined ? [] : [chunk({ content: text })]),
        ...(call === undefined
          ? []
          : [
              chunk({
                tool_calls: [
                  {
                    index: 0,
                    id: `call_${turn}`,
                    type: 'function',
                    function: { name: call.name, arguments: JSON.stringify(call.input) },
                  },
                ],
              }),
            ]),
        chunk({}, call === undefined ? 'stop' : 'tool_calls'),
        data({
          id: 'c1',
          object: 'chat.completion.chunk',
          created: 1,
          model: 'm',
          choices: [],
          usage: {
            prompt_tokens: 10,
            completion_tokens: 7,
            total_tokens: 17,
            completion_tokens_details: { reasoning_tokens: 5 },
          },
        }),
        'data: [DONE]\n\n',
      ];
    },
    returned: ({ messages }) => messages.find(({ role }) => role === 'assistant')?.reasoning_content,
    expected: (called) => (called ? 'Thought 1.' : undefined),
  },
];

const echo = defineTool({ name: 'echo', run: () => 'said' });

/** A chat of two exchanges; between them the runtime is closed, and another one goes on with the log. */
async function twoExchanges(thinker: Thinker, dialect: 'tools' | 'tags') {
  const store = `sqlite:${join(mkdtempSync(join(tmpdir(), 'telltale-parts-')), 'log.db')}`;
  server.answer = (response) => {
    const turn = server.requests.length;
    const call: Call | undefined =
      dialect === 'tags'
        ? undefined
        : turn === 1
          ? { name: 'echo', input: {} }
          : { name: 'respond', input: { text: `Answer ${turn}.` } };
    const text =
      dialect === 'tools'
        ? undefined
        : turn === 1
          ? 'I look. <action>{"name":"echo"}</action>'
          : `<response>Answer ${turn}.</response>`;
    sse(response, thinker.answer(turn, text, call));
    response.end();
  };
  const agent = () =>
    defineAgent({ name: 'thinker', model: thinker.model(server.url), dialect, tools: [echo] });
  const first = await createRuntime({ store });
  const session = first.start(await agent(), { input: 'Look.', chat: true });
  await expect.poll(async () => (await first.state(session.id)).status).toBe('waiting');
  await first.close();
  const second = await createRuntime({ store });
  const again = await second.resume(session.id, { agent: await agent() });
  await again.say('And now?');
  await expect.poll(() => server.requests.length).toBe(3);
  await expect.poll(async () => (await second.state(session.id)).status).toBe('waiting');
  const events = await second.events(session.id);
  await second.close();
  return { events, bodies: server.requests.map(({ body }) => JSON.parse(body) as Body) };
}

describe.each(THINKERS)('$name', (thinker) => {
  it.each(['tools', 'tags'] as const)(
    'gets its reasoning back in its place in %s, at once and after a restart',
    async (dialect) => {
      const { events, bodies } = await twoExchanges(thinker, dialect);
      const expected = thinker.expected(dialect === 'tools');
      expect(thinker.returned(bodies[1] as Body, dialect === 'tools')).toEqual(expected);
      expect(thinker.returned(bodies[2] as Body, dialect === 'tools')).toEqual(expected);
      for (const [index, { url }] of server.requests.entries()) {
        const format = formatOf(url);
        expect(format === undefined ? [url] : checkRequest(format, bodies[index])).toEqual([]);
      }
      const failed = events.filter(({ type }) => type === 'turn.failed' || type === 'fault');
      expect(failed).toEqual([]);
    },
  );
});

// Anthropic does not tell them apart.
describe.each(THINKERS.slice(1))('$name', (thinker) => {
  it('counts the tokens of its reasoning as output', async () => {
    const { events } = await twoExchanges(thinker, 'tools');
    const turns = events.flatMap((each) => (each.type === 'turn.completed' ? [each.usage] : []));
    expect(turns[0]).toMatchObject({ input: 10, output: 7, reasoning: 5 });
  });
});

it('a model of another provider is not given what it cannot read', async () => {
  const [anthropic, openai] = THINKERS as [Thinker, Thinker];
  server.answer = (response) => {
    const turn = server.requests.length;
    const thinker = turn === 1 ? anthropic : openai;
    sse(
      response,
      thinker.answer(
        turn,
        undefined,
        turn === 1 ? { name: 'echo', input: {} } : { name: 'respond', input: { text: 'Done.' } },
      ),
    );
    response.end();
  };
  const agent = await defineAgent({
    name: 'thinker',
    model: anthropic.model(server.url),
    dialect: 'tools',
    tools: [echo],
  });
  const runtime = await createRuntime({ store: 'memory' });
  const session = runtime.start(agent, { input: 'Look.', maxTurns: 1 });
  expect(await session.result).toMatchObject({ status: 'failed' });
  const again = await runtime.resume(session.id, { agent, model: openai.model(server.url), maxTurns: 5 });
  expect(await again.result).toMatchObject({ status: 'completed', result: 'Done.' });
  await runtime.close();
  const body = JSON.parse(server.requests[1]?.body ?? '') as Body;
  expect(checkRequest('openai-responses', body)).toEqual([]);
  expect(JSON.stringify(body)).not.toContain('sig1');
});
