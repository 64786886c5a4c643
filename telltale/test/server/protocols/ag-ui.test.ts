import { type BaseEvent, HttpAgent, type Message } from '@ag-ui/client';
import { afterEach, describe, expect, it } from 'vitest';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { createMemoryHome } from '../../../src/store/memory/memory-tables.ts';
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

const agentOf = ({ url, token }: Stage, path = '/ag-ui', threadId = 't1') =>
  new HttpAgent({ url: url + path, threadId, headers: { authorization: `Bearer ${token}` } });

interface Run {
  readonly events: readonly BaseEvent[];
  readonly types: readonly string[];
  readonly result: unknown;
  readonly error: Error | undefined;
}

/** Runs the agent, with a message if one is given. The client itself throws at events out of order. */
async function run(
  agent: HttpAgent,
  text?: string,
  more: Parameters<HttpAgent['runAgent']>[0] = {},
): Promise<Run> {
  if (text !== undefined) agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
  const events: BaseEvent[] = [];
  let error: Error | undefined;
  const onEvent = ({ event }: { event: BaseEvent }) => void events.push(event);
  const ran = await agent.runAgent(more, { onEvent }).catch((thrown: Error) => {
    error = thrown;
    return undefined;
  });
  return { events, types: events.map(({ type }) => type), result: ran?.result, error };
}

const textsOf = (messages: readonly Message[], role: Message['role']) =>
  messages.flatMap((message) => (message.role === role && 'content' in message ? [message.content] : []));
const of = (events: readonly BaseEvent[], type: string) => events.filter((event) => event.type === type);

const HI = [{ id: '1', role: 'user', content: 'Hi.' }];

/** The status, and the error, of what the client would not send or would log. */
async function post(path: string, body: unknown) {
  const answer = await stage.post(path, body);
  return [answer.status, ((await answer.json()) as { error: object }).error] as const;
}

describe('a run of AG-UI', () => {
  it('tells thoughts, responses, calls and metadata in an order that its client accepts', async () => {
    stage = await openStage({
      coder: {
        turns: [
          `<thought>I look <thought>closely</thought> first.</thought><metadata>{"status": "BUSY"}</metadata>${call('a1', 'echo', { x: 1 })}${call('a2', 'broken')}${interim('One moment.')}`,
          { text: `<metadata>{"status": "DONE"}</metadata>${final('It is 1, and a2 is broken.')}`, chunk: 3 },
        ],
        metadata: { fields: { status: { values: ['IDLE', 'BUSY', 'DONE'], default: 'IDLE' } } },
        tools: [echo, broken],
      },
    });
    const agent = agentOf(stage);
    const { events, types, result, error } = await run(agent, 'What is it?');
    expect(error).toBeUndefined();
    expect(types.slice(0, 3)).toEqual(['RUN_STARTED', 'STATE_SNAPSHOT', 'STEP_STARTED']);
    expect(types.at(-1)).toBe('RUN_FINISHED');
    expect(result).toBe('It is 1, and a2 is broken.');
    expect(textsOf(agent.messages, 'assistant').filter((text) => text !== undefined)).toEqual([
      'One moment.',
      'It is 1, and a2 is broken.',
    ]);
    expect(textsOf(agent.messages, 'reasoning')).toEqual(['I look  first.', 'closely']);
    expect(agent.state).toEqual({ status: 'DONE' });
    expect(of(events, 'STATE_DELTA')[0]?.delta).toEqual([{ op: 'add', path: '/status', value: 'BUSY' }]);
    expect(types.filter((type) => type.startsWith('STEP'))).toEqual([
      'STEP_STARTED',
      'STEP_FINISHED',
      'STEP_STARTED',
      'STEP_FINISHED',
    ]);
    const calls = agent.messages.flatMap((message) =>
      'toolCalls' in message ? (message.toolCalls ?? []) : [],
    );
    expect(calls.map((each) => each.function)).toEqual([
      { name: 'echo', arguments: '{"x":1}' },
      { name: 'broken', arguments: '{}' },
    ]);
    const results = agent.messages.filter((message) => message.role === 'tool');
    expect(results.find(({ toolCallId }) => toolCallId === calls[0]?.id)?.content).toBe('{"x":1}');
    expect(results.find(({ toolCallId }) => toolCallId === calls[1]?.id)?.content).toContain('No disk.');
    const finals = of(events, 'TEXT_MESSAGE_END').map(({ metadata }) => metadata?.telltale.final);
    expect(finals).toEqual([false, true]);
    expect(of(events, 'TEXT_MESSAGE_CONTENT').length).toBeGreaterThan(5);
  });

  it('has calls overlap each other and the text, and answers all of them before its end', async () => {
    const first = gate('first');
    const second = gate('second');
    stage = await openStage({
      coder: {
        turns: [
          `${call('a1', 'first')}${call('a2', 'second')}${call('bg', 'endless', {}, 'fire_and_forget')}${final('Both: $a2 $a1.')}`,
        ],
        tools: [first.tool, second.tool, endless],
      },
    });
    const agent = agentOf(stage);
    const running = run(agent, 'Go.');
    await expect.poll(() => stage.newest()).not.toBe('');
    second.open('two');
    first.open('one');
    const { events, result, error } = await running;
    expect(error).toBeUndefined();
    expect(result).toBe('Both: two one.');
    expect(textsOf(agent.messages, 'assistant').filter((text) => text !== undefined)).toEqual([
      'Both: two one.',
    ]);
    const statuses = of(events, 'TOOL_CALL_RESULT').map(({ metadata }) => metadata?.telltale.status);
    expect(statuses).toEqual(['completed', 'completed', 'running']);
  });

  it('tells a final response that does not count as one more message, and the one that counts last', async () => {
    stage = await openStage({
      coder: {
        turns: [`${call('a1', 'broken')}${final('All is well.')}`, final('It is broken.')],
        tools: [broken],
      },
    });
    const agent = agentOf(stage);
    const { events, result } = await run(agent, 'Go.');
    expect(result).toBe('It is broken.');
    expect(textsOf(agent.messages, 'assistant').at(-1)).toBe('It is broken.');
    expect(
      of(events, 'CUSTOM').map(({ name, value }) => [name, (value as { code?: string }).code]),
    ).toContainEqual(['telltale.fault', 'final_undone']);
  });

  it('goes on with the same session for the same thread, and with another one for another', async () => {
    stage = await openStage({
      coder: {
        turns: [`<metadata>{"n": 1}</metadata>${final('First.')}`, final('Second.')],
        metadata: { fields: { n: { type: 'number' } } },
      },
    });
    const [one, two] = [agentOf(stage, '/ag-ui/coder', 'one'), agentOf(stage, '/ag-ui/coder', 'two')];
    const [first, beside] = await Promise.all([run(one, 'Hello.'), run(two, 'Hi.')]);
    const again = await run(one, 'And now?', { context: [{ description: 'place', value: 'Oslo' }] });
    expect([first.result, beside.result, again.result]).toEqual(['First.', 'First.', 'Second.']);
    // It begins with the state that the first run has left.
    expect(again.events[1]).toMatchObject({ type: 'STATE_SNAPSHOT', snapshot: { n: 1 } });
    const sessions = await stage.store.list({ kind: 'session' });
    expect(sessions).toHaveLength(2);
    const session = first.events[0]?.metadata?.telltale.session;
    expect(again.events[0]?.metadata?.telltale.session).toBe(session);
    const said = (await stage.events(session)).filter(({ type }) => type === 'message.received');
    expect(said).toMatchObject([{ from: 'user', text: '[place] Oslo\n\nAnd now?' }]);
    expect(new Set(one.messages.map(({ id }) => id)).size).toBe(one.messages.length);
  });

  it('says that tools of the page are not called', async () => {
    stage = await openStage({ coder: { turns: [final('Hi.')] } });
    const tools = [{ name: 'alert', description: 'Shows a box.', parameters: {} }];
    const { events } = await run(agentOf(stage), 'Hi.', { tools });
    expect(of(events, 'CUSTOM')[0]).toMatchObject({ name: 'telltale.tools_ignored', value: { tools: 1 } });
  });

  it('ends with an error that has the code, the message and what to do', async () => {
    stage = await openStage({ coder: { turns: [interim('Hm')] } });
    const { events, types } = await run(agentOf(stage), 'Go.');
    expect(types.at(-1)).toBe('RUN_ERROR');
    expect(events.at(-1)).toMatchObject({ code: 'script_ended', message: expect.stringContaining('turn 2') });
    expect(await stage.status(await stage.newest())).toBe('failed');
  });

  it('gives a thread whose session has failed to a new one, with what was said', async () => {
    stage = await openStage({ coder: { turns: [final('First.')] } });
    const agent = agentOf(stage);
    await run(agent, 'Hello.');
    expect((await run(agent, 'More.')).types.at(-1)).toBe('RUN_ERROR');
    expect((await run(agent, 'And now?')).result).toBe('First.');
    const [started] = await stage.events(await stage.newest());
    expect(started).toMatchObject({
      input: expect.stringMatching(
        /\[user\] Hello\.\n\n\[assistant\] First\.\n\n\[user\] More\.[\s\S]*message:\n\nAnd now\?$/,
      ),
    });
  });

  it('goes on with a thread after the server has been restarted', async () => {
    const clock = createSystemClock();
    const home = createMemoryHome();
    const sketch = { coder: { turns: [final('First.'), final('Second.')] } };
    stage = await openStage(sketch, createMemoryStore({ clock, home }));
    const before = agentOf(stage);
    await run(before, 'Hello.');
    const session = await stage.newest();
    await stage.close();
    stage = await openStage(sketch, createMemoryStore({ clock, home }));
    const after = agentOf(stage);
    after.messages = before.messages;
    expect((await run(after, 'Still there?')).result).toBe('Second.');
    expect(await stage.newest()).toBe(session);
  });
});

describe('a run whose client goes away', () => {
  it('is broken off with all that runs, and the thread goes on with the next message', async () => {
    stage = await openStage({
      coder: {
        turns: [`${interim('Wait.')}${call('a1', 'endless')}${final('$a1')}`, final('Back.')],
        tools: [endless],
      },
    });
    const agent = agentOf(stage);
    const running = run(agent, 'Go.');
    await expect.poll(() => stage.newest()).not.toBe('');
    const session = await stage.newest();
    const types = async () => (await stage.events(session)).map(({ type }) => type);
    await expect.poll(types).toContain('action.started');
    agent.abortRun();
    await running;
    // At once: it waits for what is being broken off.
    const again = await run(agent, 'And now?');
    expect(again.error).toBeUndefined();
    expect(again.result).toBe('Back.');
    expect(await types()).toContain('action.cancelled');
    expect(await stage.newest()).toBe(session);
  });

  it('goes on where it is told to, and is busy until it has ended', async () => {
    const slow = gate('slow');
    stage = await openStage({
      coder: { turns: [`${call('a1', 'slow')}${final('It is $a1.')}`, final('Next.')], tools: [slow.tool] },
    });
    const agent = agentOf(stage);
    const running = run(agent, 'Go.', { forwardedProps: { on_close: 'continue' } });
    await expect.poll(() => stage.newest()).not.toBe('');
    const session = await stage.newest();
    await expect.poll(async () => (await stage.events(session)).length).toBeGreaterThan(3);
    agent.abortRun();
    await running;
    expect(await post('/ag-ui', { threadId: 't1', runId: 'r', messages: HI })).toMatchObject([
      409,
      { code: 'thread_busy' },
    ]);
    slow.open('over');
    const answers = async () => (await stage.events(session)).filter(({ type }) => type === 'response');
    await expect.poll(answers).toMatchObject([{ text: 'It is over.', final: true }]);
    await expect.poll(() => stage.status(session)).toBe('waiting');
    expect((await run(agent, 'Hello again?')).result).toBe('Next.');
  });

  it('is told when somebody else cancels its session', async () => {
    stage = await openStage({
      coder: { turns: [`${call('a1', 'endless')}${final('$a1')}`], tools: [endless] },
    });
    const running = run(agentOf(stage), 'Go.');
    await expect.poll(() => stage.newest()).not.toBe('');
    await stage.runtime.cancel(await stage.newest(), 'Enough.', 'ann');
    const { events } = await running;
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
  });
});

describe('a review in a run', () => {
  const sketch = {
    coder: {
      turns: [`${call('a1', 'deploy')}${final('Result: $a1')}`, final('Then not.')],
      tools: [guarded],
    },
  };

  it('ends it with an interrupt, and the run that answers goes on from there', async () => {
    stage = await openStage(sketch);
    const agent = agentOf(stage);
    const asked = await run(agent, 'Deploy.');
    expect(asked.error).toBeUndefined();
    const [interrupt] = agent.pendingInterrupts;
    expect(interrupt).toMatchObject({ reason: 'approval', toolCallId: expect.stringMatching(/\.a1$/) });
    const entry = {
      interruptId: interrupt?.id ?? '',
      status: 'resolved',
      payload: { approved: true },
    } as const;
    const answered = await run(agent, undefined, { resume: [entry] });
    expect(answered.error).toBeUndefined();
    expect(answered.result).toBe('Result: deployed');
    expect(textsOf(agent.messages, 'assistant').at(-1)).toBe('Result: deployed');
    expect(textsOf(agent.messages, 'tool')).toEqual(['deployed']);
    // A second time there is nothing left to answer.
    const again = { threadId: 't1', runId: 'r', messages: [], resume: [entry] };
    expect(await post('/ag-ui', again)).toMatchObject([409, { code: 'review_answered' }]);
  });

  it('is refused by an entry that says so, and by one that is cancelled', async () => {
    stage = await openStage(sketch);
    const agent = agentOf(stage);
    await run(agent, 'Deploy.');
    const { id = '' } = agent.pendingInterrupts[0] ?? {};
    const { result } = await run(agent, undefined, { resume: [{ interruptId: id, status: 'cancelled' }] });
    expect(result).toBe('Then not.');
    expect(textsOf(agent.messages, 'tool')[0]).toContain('refused');
  });
});

describe('bad input to AG-UI', () => {
  it('is refused with what was found and what to send, and starts nothing', async () => {
    stage = await openStage({ coder: { turns: [] }, writer: { turns: [] } });
    const ids = { threadId: 't', runId: 'r' };
    const path = '/ag-ui/coder';
    expect(await post(path, '{')).toMatchObject([400, { code: 'bad_json' }]);
    expect(await post(path, [])).toMatchObject([400, { message: 'The body is a list, not an object.' }]);
    expect(await post(path, {})).toMatchObject([400, { message: '"threadId" is missing.' }]);
    expect(await post(path, { ...ids, threadId: 'x'.repeat(300) })).toMatchObject([400, {}]);
    expect(await post(path, ids)).toMatchObject([400, { message: '"messages" is no list.' }]);
    expect(await post(path, { ...ids, messages: [] })).toMatchObject([
      400,
      { message: 'There is no message of the user.' },
    ]);
    expect(await post(path, { ...ids, messages: [7] })).toMatchObject([
      400,
      { message: 'messages[0] is a number.' },
    ]);
    expect(
      await post(path, { ...ids, messages: [...HI, { role: 'assistant', content: 'Ho.' }] }),
    ).toMatchObject([400, {}]);
    expect(
      await post(path, { ...ids, messages: [{ role: 'user', content: [{ type: 'image' }] }] }),
    ).toMatchObject([400, {}]);
    expect(await post(path, { ...ids, messages: Array(10_000).fill(HI[0]) })).toMatchObject([
      400,
      { message: 'There are 10000 messages, 2000 are allowed.' },
    ]);
    expect(
      await post(path, { ...ids, messages: HI, resume: [{ interruptId: 'x', status: 'resolved' }] }),
    ).toMatchObject([400, {}]);
    expect(await post(path, { ...ids, resume: [{ interruptId: 'x', status: 'cancelled' }] })).toMatchObject([
      409,
      {},
    ]);
    expect(await post(path, { ...ids, messages: HI, forwardedProps: { on_close: 'maybe' } })).toMatchObject([
      400,
      {},
    ]);
    expect(await post('/ag-ui/codr', { ...ids, messages: HI })).toMatchObject([
      404,
      { hint: 'Did you mean "coder"?' },
    ]);
    expect(await post('/ag-ui', { ...ids, messages: HI })).toMatchObject([
      400,
      { hint: expect.stringContaining('coder, writer') },
    ]);
    expect(await stage.store.list()).toEqual([]);
    expect(stage.strays).toEqual([]);
  });
});
