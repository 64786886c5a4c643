import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { frameOf, openFrame } from '../../src/lib/calls.ts';
import type { ModelMessage } from '../../src/models/model.ts';
import { createProviderModel } from '../../src/models/providers/create-provider-model.ts';
import { toPrompt } from '../../src/models/providers/from-language-model.ts';
import { ANTHROPIC_CALLS, type CallWireFormat, OPENAI_CALLS, RESPONSES_CALLS } from './call-wire-formats.ts';
import { ask } from './collect.ts';
import { type ProviderServer, sse, startProviderServer } from './provider-server.ts';

let server: ProviderServer;
beforeEach(async () => {
  server = await startProviderServer();
});
afterEach(() => server.close());

const TOOLS = [{ name: 'search', description: 'Searches.', parameters: { type: 'object' } }];

/** The body of the request that asks with these messages. */
async function bodyFor(wire: CallWireFormat, messages: readonly ModelMessage[], tools = TOOLS) {
  server.answer = (response) => {
    sse(response, [...wire.start, ...wire.text('x'), ...wire.end('calls')]);
    response.end();
  };
  const toServer: typeof fetch = (input, init) =>
    fetch(String(input).replace('https://api.openai.com', server.url), init);
  const model = await createProviderModel(wire.ref, {
    env: wire.env(server.url),
    ...(wire.isAtHome ? { fetch: toServer } : {}),
  });
  await ask(model, { messages, tools }).end;
  return JSON.parse(server.requests.at(-1)?.body ?? '') as {
    readonly messages: readonly unknown[];
    readonly input: readonly unknown[];
  };
}

const search = (id: string, input: string) => frameOf({ id, name: 'search', input });
const answer = (call: string, text: string, failed = false) => ({
  call,
  name: 'search',
  text,
  ...(failed ? { failed: true as const } : {}),
});
const tool = (...answers: readonly ReturnType<typeof answer>[]): ModelMessage => ({
  role: 'tool',
  text: answers.map(({ text }) => text).join('\n'),
  answers,
});

/** A turn with two calls, one of which nobody answered and one which is not JSON; then one that broke off in a call. */
const CONVERSATION: readonly ModelMessage[] = [
  { role: 'user', text: 'task' },
  {
    role: 'assistant',
    text: `Hm. \n${search('c1', '{"query": "x"}')}${search('c2', '{"cut')}${search('c3', '[1]')}`,
  },
  tool(answer('c3', 'bad input', true), answer('c1', 'found')),
  { role: 'user', text: 'state' },
  { role: 'assistant', text: `On. ${search('c4', '{}')}${openFrame('c5', 'search')}{"que` },
  { role: 'user', text: 'You broke off.' },
];

describe('a request behind native calls', () => {
  it('to Anthropic answers every call in the message behind it', async () => {
    const result = (id: string, text: string, failed?: true) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: text,
      ...(failed ? { is_error: true } : {}),
    });
    const use = (id: string, input: object) => ({ type: 'tool_use', id, name: 'search', input });
    expect((await bodyFor(ANTHROPIC_CALLS, CONVERSATION)).messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'task' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Hm. \n' },
          use('c1', { query: 'x' }),
          use('c2', { not_a_json_object: '{"cut' }),
          use('c3', { not_a_json_object: '[1]' }),
        ],
      },
      {
        role: 'user',
        content: [
          result('c1', 'found'),
          result('c2', 'not run: the turn broke off', true),
          result('c3', 'bad input', true),
          { type: 'text', text: 'state' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'On. ' }, use('c4', {})] },
      {
        role: 'user',
        content: [
          result('c4', 'not run: the turn broke off', true),
          { type: 'text', text: 'You broke off.', cache_control: { type: 'ephemeral' } },
        ],
      },
    ]);
  });

  it("to OpenAI's chat completions has a message for each answer", async () => {
    const use = (id: string, input: object) => ({
      id,
      type: 'function',
      function: { name: 'search', arguments: JSON.stringify(input) },
    });
    const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });
    const failed = (text: string) => JSON.stringify({ error: text });
    expect((await bodyFor(OPENAI_CALLS, CONVERSATION)).messages).toEqual([
      { role: 'system', content: 'You are terse.' },
      { role: 'user', content: 'task' },
      {
        role: 'assistant',
        content: 'Hm. \n',
        tool_calls: [
          use('c1', { query: 'x' }),
          use('c2', { not_a_json_object: '{"cut' }),
          use('c3', { not_a_json_object: '[1]' }),
        ],
      },
      result('c1', 'found'),
      result('c2', failed('not run: the turn broke off')),
      result('c3', failed('bad input')),
      { role: 'user', content: 'state' },
      { role: 'assistant', content: 'On. ', tool_calls: [use('c4', {})] },
      result('c4', failed('not run: the turn broke off')),
      { role: 'user', content: 'You broke off.' },
    ]);
  });

  it("to OpenAI's responses has an item for each call and each answer", async () => {
    const { input } = await bodyFor(RESPONSES_CALLS, CONVERSATION);
    const items = input as readonly { readonly type?: string; readonly call_id?: string }[];
    const ids = (type: string) => items.filter((item) => item.type === type).map(({ call_id }) => call_id);
    expect(ids('function_call')).toEqual(['c1', 'c2', 'c3', 'c4']);
    expect(ids('function_call_output')).toEqual(['c1', 'c2', 'c3', 'c4']);
    expect(items).toContainEqual({
      type: 'function_call',
      call_id: 'c1',
      name: 'search',
      arguments: '{"query":"x"}',
    });
    expect(items).toContainEqual({ type: 'function_call_output', call_id: 'c1', output: 'found' });
  });

  it('begins as the last one did when a turn is added', async () => {
    for (const wire of [ANTHROPIC_CALLS, OPENAI_CALLS]) {
      const before = (await bodyFor(wire, CONVERSATION.slice(0, 4))).messages;
      const after = (await bodyFor(wire, CONVERSATION)).messages;
      const unmarked = (messages: readonly unknown[]) =>
        JSON.stringify(messages).replaceAll(',"cache_control":{"type":"ephemeral"}', '');
      expect(unmarked(after)).toContain(unmarked(before).slice(0, -1));
    }
  });

  it("marks the tools' answers for Anthropic's cache where they come last", async () => {
    const body = await bodyFor(ANTHROPIC_CALLS, CONVERSATION.slice(0, 3));
    const last = body.messages.at(-1) as { readonly content: readonly object[] };
    expect(last.content.map((part) => 'cache_control' in part)).toEqual([false, false, true]);
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(2);
  });

  it('without tools tells of calls in words, since Anthropic takes no others then', async () => {
    const body = await bodyFor(ANTHROPIC_CALLS, CONVERSATION.slice(0, 4), []);
    expect(body.messages).toMatchObject([
      { role: 'user', content: [{ text: 'task' }] },
      {
        role: 'assistant',
        content: [
          { text: 'Hm. \n\n[called search: {"query": "x"}]\n[called search: {"cut]\n[called search: [1]]' },
        ],
      },
      {
        role: 'user',
        content: [{ text: '[search failed: bad input]\n\n[search answered: found]\n\nstate' }],
      },
    ]);
  });

  it('gives back what a call was signed with', async () => {
    const meta = { google: { thoughtSignature: 'sig' } };
    const text = frameOf({ id: 'c1', name: 'search', input: '{}', meta });
    const prompt = toPrompt('', [{ role: 'assistant', text }, tool(answer('c1', 'x'))], {
      isAnthropic: false,
      hasTools: true,
    });
    expect(prompt[0]).toMatchObject({ content: [{ type: 'tool-call', providerOptions: meta }] });
  });
});

describe('calls and answers that do not match', () => {
  const roles = (messages: readonly ModelMessage[]) =>
    toPrompt('', messages, { isAnthropic: true, hasTools: true }).map(({ role, content }) => [
      role,
      ...(typeof content === 'string' ? [content] : content).map((part) =>
        typeof part === 'string'
          ? part
          : part.type === 'text' || part.type === 'reasoning'
            ? part.text
            : part.type === 'tool-call'
              ? `call ${part.toolCallId}`
              : `${part.toolCallId}: ${part.output.value}`,
      ),
    ]);

  it('an answer whose call is not in the conversation is told in words', () => {
    expect(
      roles([
        { role: 'user', text: 'summary' },
        tool(answer('c0', 'old')),
        { role: 'assistant', text: search('c1', '{}') },
        tool(answer('c9', 'stray', true), answer('c1', 'new')),
      ]),
    ).toEqual([
      ['user', 'summary\n\n[search answered: old]'],
      ['assistant', 'call c1'],
      ['tool', 'c1: new'],
      ['user', '[search failed: stray]'],
    ]);
  });

  it('answers stand straight behind their calls, wherever they were given', () => {
    expect(
      roles([
        { role: 'assistant', text: search('c1', '{}') },
        { role: 'user', text: 'hurry' },
        tool(answer('c1', 'late')),
        { role: 'assistant', text: search('c1', '{}') },
        tool(answer('c1', 'again')),
      ]),
    ).toEqual([
      ['assistant', 'call c1'],
      ['tool', 'c1: late'],
      ['user', 'hurry'],
      ['assistant', 'call c1_2'],
      ['tool', 'c1_2: again'],
    ]);
  });

  it('two calls of one id get an id and an answer each', () => {
    expect(
      roles([
        { role: 'assistant', text: search('c', '{}') + search('c', '{"b":1}') },
        tool(answer('c', 'one'), answer('c', 'two')),
      ]),
    ).toEqual([
      ['assistant', 'call c', 'call c_2'],
      ['tool', 'c: one', 'c_2: two'],
    ]);
  });

  it('a message of nothing but a call that was cut off is left out', () => {
    expect(
      roles([
        { role: 'user', text: 'task' },
        { role: 'assistant', text: ` \n${openFrame('c', 'search')}{"a` },
        { role: 'user', text: 'You broke off.' },
      ]),
    ).toEqual([['user', 'task\n\nYou broke off.']]);
  });

  it('prose of an assistant who speaks twice is joined to one text, and calls stay behind it', () => {
    expect(
      roles([
        { role: 'assistant', text: 'a ' },
        { role: 'assistant', text: `b ${search('c', '{}')} \n` },
        { role: 'assistant', text: 'd ' },
      ]),
    ).toEqual([
      ['assistant', 'a\n\nb ', 'call c'],
      ['tool', 'c: not run: the turn broke off'],
      ['assistant', 'd'],
    ]);
  });
});
