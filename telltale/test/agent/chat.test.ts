import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createRemoteSession } from '../../src/agent/remote/remote-session.ts';
import type { Session } from '../../src/agent/runtime-types.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { ObservedEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { agentFolder, type RunOptions, runAgent, tool } from './run-agent.ts';

const final = (text: string) => `<response final="true">${text}</response>`;
const chat = { chat: true } as const;

/** Resolves with the first event from now on that is meant. */
const seen = (session: Session, is: (event: ObservedEvent) => boolean): Promise<ObservedEvent> =>
  new Promise((resolve) => {
    const forget = session.subscribe((event) => {
      if (!is(event)) return;
      forget();
      resolve(event);
    });
  });
const waits = (session: Session) => seen(session, ({ type }) => type === 'session.waiting');

/** Says these, one after the other, each once the session waits; then finishes. */
const saying =
  (...texts: readonly string[]): NonNullable<RunOptions['during']> =>
  async (session) => {
    let idle = waits(session);
    for (const text of texts) {
      await idle;
      idle = waits(session);
      await session.say(text);
    }
    await idle;
    session.finish();
  };

describe('a chat', () => {
  it('waits for a message behind each final response, and the next one begins the next turn', async () => {
    const { result, events, prompts, types } = await runAgent({
      turns: [final('Hello.'), final('Still here.')],
      start: chat,
      during: saying('And now?'),
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Still here.', turns: 2 });
    expect(types.filter((type) => !/^(model|turn)/.test(type))).toEqual([
      'session.started',
      'response',
      'session.waiting',
      'message.received',
      'response',
      'session.waiting',
      'session.completed',
    ]);
    expect(events.find(({ type }) => type === 'message.received')).toMatchObject({
      from: 'user',
      text: 'And now?',
    });
    expect(prompts[1]).toContain('And now?');
  });

  it('has the message as the cause of the turn that answers it', async () => {
    const { of } = await runAgent({
      turns: [final('a'), final('b')],
      start: chat,
      during: saying('Why?'),
    });
    expect(of('turn.started')[1]?.cause.seq).toBe(of('message.received')[0]?.seq);
  });

  it('answers what was said before it was finished', async () => {
    const { result, of } = await runAgent({
      turns: [final('one'), final('two')],
      start: chat,
      async during(session) {
        await waits(session);
        await session.say('More.');
        session.finish();
      },
    });
    expect(result.result).toBe('two');
    expect(of('response')).toHaveLength(2);
  });

  it('is woken by a steer, too', async () => {
    const { of } = await runAgent({
      turns: [final('one'), final('two')],
      start: chat,
      async during(session) {
        await waits(session);
        const again = waits(session);
        await session.steer('Psst.');
        await again;
        session.finish();
      },
    });
    expect(of('message.received')).toMatchObject([{ from: 'steer', text: 'Psst.' }]);
    expect(of('response')).toHaveLength(2);
  });

  it('can be cancelled while it waits', async () => {
    const { result } = await runAgent({
      turns: [final('one')],
      start: chat,
      async during(session) {
        await waits(session);
        await session.cancel('enough');
      },
    });
    expect(result.status).toBe('cancelled');
  });

  it('counts the limit of turns for each exchange, and tokens for all of it', async () => {
    const usage = { input: 10, output: 1 };
    const model: Model = {
      id: 'scripted:short',
      async stream({ turn }, sink) {
        await undefined;
        sink.text(final(String(turn)));
        return { finish: 'stop', usage };
      },
    };
    const { result } = await runAgent({
      manifest: 'limits: { turns: 1, tokens: 30 }\n',
      turns: [],
      model,
      start: chat,
      async during(session) {
        for (const text of ['b', 'c', 'd']) {
          await waits(session);
          await session.say(text);
        }
      },
    });
    expect(result).toMatchObject({ status: 'failed', turns: 3, error: { code: 'limit_tokens' } });
  });

  it('spends none of its wall time waiting', async () => {
    const clock = createSimulatedClock();
    const { result } = await runAgent({
      manifest: 'limits: { wall: 10s }\n',
      turns: [final('one'), final('two')],
      clock,
      start: chat,
      async during(session) {
        await waits(session);
        clock.advance(60_000);
        const again = waits(session);
        await session.say('Still there?');
        await again;
        clock.advance(60_000);
        session.finish();
      },
    });
    expect(result).toMatchObject({ status: 'completed', result: 'two' });
  });

  it('still ends when an exchange takes longer than the wall time that is left', async () => {
    const clock = createSimulatedClock();
    const hanging: Model = {
      id: 'scripted:hanging',
      stream: ({ turn, signal }, sink) =>
        new Promise((resolve, reject) => {
          if (turn === 1) {
            sink.text(final('one'));
            resolve({ finish: 'stop' });
          } else signal.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    };
    const { result } = await runAgent({
      manifest: 'limits: { wall: 10s }\n',
      turns: [],
      model: hanging,
      clock,
      start: chat,
      async during(session) {
        await waits(session);
        clock.advance(60_000);
        const turn = seen(session, ({ type }) => type === 'turn.started');
        await session.say('Go on.');
        await turn;
        clock.advance(10_000);
      },
    });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'limit_wall' } });
  });
});

/** Speaks these pieces in its first turn, then waits to be cut off; its other turns are final. */
const interruptible = (...pieces: readonly string[]): Model => ({
  id: 'scripted:interruptible',
  stream: ({ turn, signal }, sink) =>
    new Promise((resolve, reject) => {
      if (turn > 1) {
        sink.text(final(`turn ${turn}`));
        resolve({ finish: 'stop', usage: { input: 1, output: 1 } });
        return;
      }
      for (const piece of pieces) sink.text(piece);
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    }),
});

describe('breaking off a turn', () => {
  it('keeps what was said, cancels what runs, and waits for the next message', async () => {
    const { result, of, types, prompts, events } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files: tool('slow', 'await new Promise((r) => context.signal.addEventListener("abort", r));'),
      turns: [],
      model: interruptible(
        '<thought>Hm.</thought>',
        '<action id="a1">{"name":"slow"}</action>',
        '<response>Let me te',
      ),
      start: chat,
      async during(session) {
        await seen(session, ({ type }) => type === 'action.started');
        const idle = waits(session);
        session.breakOff();
        await idle;
        const again = waits(session);
        await session.say('Something else.');
        await again;
        session.finish();
      },
    });
    expect(result).toMatchObject({ status: 'completed', result: 'turn 2' });
    expect(of('action.cancelled')).toMatchObject([{ id: 'a1' }]);
    expect(of('turn.failed')).toMatchObject([{ error: { code: 'broken_off' } }]);
    expect(
      of('model.output')
        .map(({ text }) => text)
        .join(''),
    ).toContain('Let me te');
    const broke = types.indexOf('turn.failed');
    expect(types.slice(broke + 1, broke + 3)).toEqual(['session.waiting', 'message.received']);
    expect(prompts[1]).toContain('Something else.');
    expect(prompts[1]).toContain('The user broke off your last turn');
    expect(events.at(-1)?.type).toBe('session.completed');
  });

  it.each([
    ['for a sync action', '<action id="a1" mode="sync">{"name":"slow"}</action>'],
    ['for what its final response names', '<action id="a1">{"name":"slow"}</action><response>$a1</response>'],
    [
      'for what runs beside its final response',
      '<action id="a1">{"name":"slow"}</action><response>So.</response>',
    ],
  ])('ends it also where the model has spoken and it waits %s', async (_, said) => {
    const { result, of } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files: tool('slow', 'await new Promise((r) => context.signal.addEventListener("abort", r));'),
      turns: [said, final('Well.')],
      start: chat,
      async during(session) {
        await seen(session, ({ type }) => type === 'action.started');
        // Behind what it does with the rest of the stream.
        await new Promise((resolve) => setImmediate(resolve));
        const idle = waits(session);
        session.breakOff();
        await idle;
        const again = waits(session);
        await session.say('Something else.');
        await again;
        session.finish();
      },
    });
    expect(of('action.cancelled')).toMatchObject([{ id: 'a1' }]);
    expect(result).toMatchObject({ status: 'completed', result: 'Well.', turns: expect.any(Number) });
  });

  it('is nothing while the session waits', async () => {
    const { result, of } = await runAgent({
      turns: [final('one'), final('two')],
      start: chat,
      async during(session) {
        await waits(session);
        session.breakOff();
        const again = waits(session);
        await session.say('b');
        await again;
        session.finish();
      },
    });
    expect(result.result).toBe('two');
    expect(of('turn.failed')).toEqual([]);
  });
});

describe('resuming a chat', () => {
  async function bench(turns: readonly string[]) {
    const clock = createSimulatedClock();
    const store = createMemoryStore({ clock });
    const folder = agentFolder('');
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const model = createScriptedModel({ id: 'scripted:test', turns, clock });
    const runtime = () => createRuntime({ store, clock, cwd: folder });
    return { agent, model, runtime };
  }

  it('waits where it waited, and goes on with the next message', async () => {
    const { agent, model, runtime } = await bench([final('one'), final('two')]);
    const first = await runtime();
    const session = first.start(agent, { input: 'Hi.', model, chat: true });
    await waits(session);
    await session.interrupt();
    expect(await session.result).toMatchObject({ status: 'interrupted' });

    const second = await runtime();
    const resumed = await second.resume(session.id, { agent, model });
    await waits(resumed);
    const again = waits(resumed);
    await resumed.say('And?');
    await again;
    resumed.finish();
    expect(await resumed.result).toMatchObject({ status: 'completed', result: 'two', turns: 2 });
  });

  it('does not take a turn up again that was broken off', async () => {
    const { agent, runtime } = await bench([]);
    const model = interruptible('<thought>Well');
    const first = await runtime();
    const session = first.start(agent, { input: 'Hi.', model, chat: true });
    await seen(session, ({ type }) => type === 'thought.delta');
    const idle = waits(session);
    session.breakOff();
    await idle;
    await session.interrupt();

    const second = await runtime();
    const resumed = await second.resume(session.id, { agent, model });
    resumed.finish();
    expect(await resumed.result).toMatchObject({ status: 'completed', result: null });
    expect((await second.events(session.id)).filter(({ type }) => type === 'turn.started')).toHaveLength(1);
  });

  it('makes a chat of a session that has completed', async () => {
    const { agent, model, runtime } = await bench([final('one'), final('two')]);
    const first = await runtime();
    const session = first.start(agent, { input: 'Hi.', model });
    await session.result;
    await expect(first.resume(session.id, { agent, model })).rejects.toMatchObject({
      code: 'session_completed',
    });
    const resumed = await first.resume(session.id, { agent, model, chat: true });
    await resumed.say('One more thing.');
    resumed.finish();
    expect(await resumed.result).toMatchObject({ status: 'completed', result: 'two' });
  });
});

it('what is said to a session that is no chat is refused, here and afar, and nothing is kept of it', async () => {
  const refused = { code: 'not_a_chat', hint: expect.stringContaining('steer') };
  await runAgent({
    turns: [final('one')],
    async during(session, runtime) {
      const afar = createRemoteSession({ runtime, clock: createSimulatedClock() }, session.id, {
        onError: (thrown) => expect.fail(String(thrown)),
      });
      await expect(session.say('Well?')).rejects.toMatchObject(refused);
      await expect(afar.say('Well?')).rejects.toMatchObject(refused);
      await session.result;
      await expect(session.say('Well?')).rejects.toMatchObject(refused);
      await expect(afar.say('Well?')).rejects.toMatchObject(refused);
    },
    after: async (id, runtime) => expect(await runtime.store.upkeep.inbox(id)).toEqual([]),
  });
});
