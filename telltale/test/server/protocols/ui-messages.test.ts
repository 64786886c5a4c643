import {
  AbstractChat,
  type ChatState,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
  type UIMessageChunk,
} from 'ai';
import { afterEach, describe, expect, expectTypeOf, it } from 'vitest';
import { defineAgent } from '../../../src/agent/define/define-agent.ts';
import type { UiChunk } from '../../../src/server/protocols/ui-messages/create-ui-fold.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import {
  broken,
  call,
  echo,
  endless,
  final,
  gate,
  guarded,
  interim,
  openStage,
  type Stage,
} from './protocol-stage.ts';

let stage: Stage;
afterEach(() => stage.close());

/** What `useChat` is without React. */
class Chat extends AbstractChat<UIMessage> {
  readonly data: unknown[];
  constructor(path: string, id: string, body: object = {}, messages: readonly UIMessage[] = []) {
    const data: unknown[] = [];
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages: [...messages],
      pushMessage: (message) => void state.messages.push(message),
      popMessage: () => void state.messages.pop(),
      replaceMessage: (at, message) => void state.messages.splice(at, 1, message),
      snapshot: structuredClone,
    };
    super({
      id,
      state,
      transport: new DefaultChatTransport({
        api: stage.url + path,
        body,
        headers: { authorization: `Bearer ${stage.token}` },
      }),
      onData: (part) => void data.push(part.data),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    this.data = data;
  }

  partsOf(type: string) {
    return (this.lastMessage?.parts ?? []).filter((part) => part.type === type) as Readonly<
      Record<string, unknown>
    >[];
  }
  get texts() {
    return this.partsOf('text').map(({ text }) => text);
  }
}

describe('a chat of the AI SDK', () => {
  it('gets thoughts, calls, metadata and responses as parts of one message', async () => {
    stage = await openStage({
      coder: {
        turns: [
          `<thought>I look.</thought><metadata>{"status": "BUSY"}</metadata>${call('a1', 'echo', { x: 1 })}${call('a2', 'broken')}${interim('One moment.')}`,
          { text: final('It is 1, and a2 is broken.'), chunk: 3 },
        ],
        metadata: { fields: { status: { values: ['IDLE', 'BUSY'], default: 'IDLE' } } },
        tools: [echo, broken],
      },
    });
    const chat = new Chat('/chat', 'c1');
    await chat.sendMessage({ text: 'What is it?' });
    expect(chat.error).toBeUndefined();
    expect(chat.status).toBe('ready');
    expect(chat.texts).toEqual(['One moment.', 'It is 1, and a2 is broken.']);
    expect(chat.partsOf('text').map(({ state, providerMetadata }) => [state, providerMetadata])).toEqual([
      ['done', { telltale: { final: false } }],
      ['done', { telltale: { final: true } }],
    ]);
    expect(chat.partsOf('reasoning')).toMatchObject([{ text: 'I look.', state: 'done' }]);
    expect(chat.partsOf('data-metadata')).toMatchObject([{ data: { status: 'BUSY' } }]);
    expect(chat.partsOf('step-start')).toHaveLength(2);
    expect(chat.partsOf('dynamic-tool')).toMatchObject([
      { toolName: 'echo', state: 'output-available', input: { x: 1 }, output: { x: 1 } },
      { toolName: 'broken', state: 'output-error', errorText: expect.stringContaining('No disk.') },
    ]);
    const session = await stage.newest();
    expect(chat.lastMessage?.metadata).toMatchObject({ agent: 'coder', session, turns: 2 });
  });

  it('says which agent speaks where the conversation moves on', async () => {
    const billing = await defineAgent({
      name: 'billing',
      model: scripted([final('You owe nothing.'), final('Since March.')]),
    });
    const over = '<action>{"name": "handoff", "parameters": {"to": "billing"}}</action>';
    stage = await openStage({
      triage: {
        turns: [`${over}${final('One moment.')}`],
        handoff: ['billing'],
        agents: [billing],
      },
    });
    const chat = new Chat('/chat/triage', 'c1');
    await chat.sendMessage({ text: 'What do I owe?' });
    expect(chat.error).toBeUndefined();
    expect(chat.partsOf('text').map(({ text, providerMetadata }) => [text, providerMetadata])).toEqual([
      ['One moment.', { telltale: { final: true } }],
      ['You owe nothing.', { telltale: { final: true, agent: 'billing' } }],
    ]);
    expect(chat.data).toContainEqual(
      expect.objectContaining({ type: 'handoff', from: 'triage', to: 'billing' }),
    );
    await chat.sendMessage({ text: 'Since when?' });
    expect(chat.texts).toEqual(['Since March.']);
  });

  it('goes on with the same session, and tells what happened beside as data', async () => {
    stage = await openStage({
      coder: { turns: [final('First.'), `<result>No.</result>${final('Second.')}`] },
    });
    const chat = new Chat('/chat/coder', 'c1');
    await chat.sendMessage({ text: 'Hello.' });
    await chat.sendMessage({ text: 'And now?' });
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(chat.texts).toEqual(['Second.']);
    expect(chat.data).toContainEqual(expect.objectContaining({ type: 'fault', code: 'reserved_tag' }));
    expect(await stage.store.list({ kind: 'session' })).toHaveLength(1);
    expect(stage.prompt('coder')).toContain('And now?');
  });

  it('shows calls that wait for each other, and one that begins in a later turn, once each', async () => {
    const slow = gate('slow');
    stage = await openStage({
      coder: {
        turns: [
          `${call('a1', 'slow', {}, 'background')}<action id="a2">{"name": "echo", "parameters": {"was": "$a1"}, "depends_on": ["a1"]}</action>${interim('They run.')}`,
          final('Done.$a2'),
        ],
        tools: [slow.tool, echo],
      },
    });
    const chat = new Chat('/chat', 'c1');
    const sent = chat.sendMessage({ text: 'Go.' });
    await expect.poll(() => chat.texts.includes('Done.')).toBe(true);
    slow.open('gone');
    await sent;
    expect(chat.error).toBeUndefined();
    expect(chat.partsOf('dynamic-tool')).toMatchObject([
      { toolName: 'slow', state: 'output-available', output: 'gone' },
      // It could not be told with what it would be called: the client takes no input for what stands in an earlier step.
      { toolName: 'echo', state: 'output-available', input: { was: '$a1' }, output: { was: 'gone' } },
    ]);
  });

  it('begins anew with what was said where an answer is asked for again', async () => {
    stage = await openStage({ coder: { turns: [final('One.')] } });
    const chat = new Chat('/chat', 'c1');
    await chat.sendMessage({ text: 'Hello.' });
    await chat.regenerate();
    expect(chat.messages).toHaveLength(2);
    expect(chat.texts).toEqual(['One.']);
    expect(await stage.store.list({ kind: 'session' })).toHaveLength(2);
  });

  it('is in error where the session fails, with the message and what to do', async () => {
    stage = await openStage({ coder: { turns: [] } });
    const chat = new Chat('/chat', 'c1');
    await chat.sendMessage({ text: 'Hello.' });
    expect(chat.status).toBe('error');
    expect(chat.error?.message).toContain('turn 1');
  });

  it('asks for approval in the AI SDK’s own way, and goes on in the same message', async () => {
    stage = await openStage({
      coder: {
        turns: [`${call('a1', 'deploy')}${final('Result: $a1')}`, final('Then not.')],
        tools: [guarded],
      },
    });
    const chat = new Chat('/chat', 'c1');
    await chat.sendMessage({ text: 'Deploy.' });
    const [asked] = chat.partsOf('dynamic-tool') as { state: string; approval: { id: string } }[];
    expect(asked?.state).toBe('approval-requested');
    await chat.addToolApprovalResponse({ id: asked?.approval.id ?? '', approved: true });
    await expect.poll(() => chat.texts.at(-1)).toBe('Result: deployed');
    await expect.poll(() => chat.status).toBe('ready');
    expect(chat.messages).toHaveLength(2);
    expect(chat.partsOf('dynamic-tool')).toMatchObject([{ state: 'output-available', output: 'deployed' }]);

    const other = new Chat('/chat', 'c2');
    await other.sendMessage({ text: 'Deploy.' });
    const [again] = other.partsOf('dynamic-tool') as { approval: { id: string } }[];
    await other.addToolApprovalResponse({
      id: again?.approval.id ?? '',
      approved: false,
      reason: 'Too late.',
    });
    await expect.poll(() => other.texts.at(-1)).toBe('Then not.');
    expect(other.error).toBeUndefined();
    expect(other.partsOf('dynamic-tool')).toMatchObject([{ state: 'output-denied' }]);
  });

  it('says nothing that the AI SDK does not know', () => {
    const known = (chunk: UiChunk): UIMessageChunk => chunk;
    expectTypeOf(known).toBeFunction();
  });
});

describe('a chat whose client goes away', () => {
  it('is broken off, and goes on with the next message', async () => {
    stage = await openStage({
      coder: {
        turns: [`${interim('Wait.')}${call('a1', 'endless')}${final('$a1')}`, final('Back.')],
        tools: [endless],
      },
    });
    const chat = new Chat('/chat', 'c1');
    const sent = chat.sendMessage({ text: 'Go.' });
    await expect.poll(() => chat.partsOf('dynamic-tool')).toMatchObject([{ state: 'input-available' }]);
    await chat.stop();
    await sent;
    await chat.sendMessage({ text: 'Still there?' });
    expect(chat.error).toBeUndefined();
    expect(chat.texts).toEqual(['Back.']);
    const types = (await stage.events(await stage.newest())).map(({ type }) => type);
    expect(types).toContain('action.cancelled');
  });

  it('goes on where it is told to, and its stream can be had again from the beginning', async () => {
    const slow = gate('slow');
    stage = await openStage({
      coder: {
        turns: [`<thought>Hm.</thought>${call('a1', 'slow')}${final('It is $a1.')}`],
        tools: [slow.tool],
      },
    });
    const first = new Chat('/chat', 'c1', { on_close: 'continue' });
    void first.sendMessage({ text: 'Go.' });
    await expect.poll(() => first.texts).toEqual(['It is ']);
    await first.stop();
    // The page was loaded again, and has what its own store kept.
    const second = new Chat('/chat', 'c1', {}, first.messages.slice(0, 1));
    const resumed = second.resumeStream();
    await expect.poll(() => second.texts).toEqual(['It is ']);
    slow.open('over');
    await resumed;
    expect(second.error).toBeUndefined();
    expect(second.messages).toHaveLength(2);
    expect(second.texts).toEqual(['It is over.']);
    expect(second.partsOf('reasoning')).toMatchObject([{ text: 'Hm.' }]);
    expect(second.partsOf('dynamic-tool')).toMatchObject([{ state: 'output-available', output: 'over' }]);
    // There is nothing more to be had.
    await second.resumeStream();
    expect(second.status).toBe('ready');
    expect(
      (
        await fetch(`${stage.url}/chat/coder/c1/stream`, {
          headers: { authorization: `Bearer ${stage.token}` },
        })
      ).status,
    ).toBe(204);
  });
});

describe('bad input to a chat', () => {
  it('is refused with what was found and what to send, and starts nothing', async () => {
    stage = await openStage({ coder: { turns: [] }, writer: { turns: [] } });
    const post = async (body: unknown, path = '/chat/coder') => {
      const answer = await stage.post(path, body);
      return [answer.status, ((await answer.json()) as { error: object }).error] as const;
    };
    const hi = { id: '1', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] };
    expect(await post({ messages: [hi] })).toMatchObject([400, { message: '"id" is missing.' }]);
    expect(await post({ id: 'c', messages: {} })).toMatchObject([400, { message: '"messages" is no list.' }]);
    expect(await post({ id: 'c', messages: [{ ...hi, parts: 'Hi.' }] })).toMatchObject([
      400,
      { message: 'messages[0] has no list of parts.' },
    ]);
    expect(await post({ id: 'c', messages: [{ ...hi, parts: [{ type: 'text' }] }] })).toMatchObject([
      400,
      {},
    ]);
    expect(await post({ id: 'c', messages: [{ ...hi, role: 'pope' }] })).toMatchObject([400, {}]);
    const file = { type: 'file', mediaType: 'image/png', url: 'data:,' };
    expect(await post({ id: 'c', messages: [{ ...hi, parts: [file] }] })).toMatchObject([400, {}]);
    expect(await post({ id: 'c', messages: [hi, { ...hi, role: 'assistant' }] })).toMatchObject([400, {}]);
    expect(await post({ id: 'c', messages: Array(10_000).fill(hi) })).toMatchObject([400, {}]);
    expect(await post({ id: 'c', agent: 'writr', messages: [hi] }, '/chat')).toMatchObject([
      404,
      { hint: 'Did you mean "writer"?' },
    ]);
    expect(await post({ id: 'c', messages: [hi] }, '/chat')).toMatchObject([400, {}]);
    expect(await stage.store.list()).toEqual([]);
  });
});
