import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { steerSession } from '../../src/agent/messages.ts';
import { type Clock, createSystemClock } from '../../src/lib/clock.ts';
import { createMemoryStore } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { action } from '../recovery/say.ts';
import { seen } from '../recovery/stage.ts';

const DONE = '<response>Done.</response>';

/** An agent that has given its final response, while something runs on that nobody waits for. */
async function scene(clock: Clock = createSystemClock(), start = {}) {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const model = scripted([
    `${action('f', 'slow', {}, 'fire_and_forget')}${DONE}`,
    '<response>Read.</response>',
  ]);
  const agent = await defineAgent({
    name: 'late',
    model,
    tools: [
      defineTool({
        name: 'slow',
        idempotent: true,
        run: async (_, { signal }) => {
          await Promise.race([opened, new Promise((resolve) => signal.addEventListener('abort', resolve))]);
          return 1;
        },
      }),
    ],
  });
  const runtime = await createRuntime({ store: 'memory', clock });
  onTestFinished(() => runtime.close());
  const session = runtime.start(agent, { input: 'Go.', ...start });
  await seen(session, 'response');
  return { runtime, session, agent, model, open };
}

describe('a message for a session whose end is decided', () => {
  const refused = { code: 'session_completed', hint: expect.stringContaining('fork') };

  it('is refused, while what nobody waits for has its time and afterwards', async () => {
    const { runtime, session, open } = await scene();
    await expect(session.steer('Wait.')).rejects.toMatchObject(refused);
    await expect(runtime.steer(session.id, 'Wait.')).rejects.toMatchObject(refused);
    open();
    expect((await session.result).status).toBe('completed');
    await expect(session.steer('Wait.')).rejects.toMatchObject(refused);
    await expect(runtime.steer(session.id, 'Wait.')).rejects.toMatchObject(refused);
  });

  it('is refused, too, where that was decided while the message was written down', async () => {
    let decided = () => {};
    const isDecided = new Promise<void>((resolve) => {
      decided = resolve;
    });
    const store = createMemoryStore();
    const send: typeof store.send = async (...args) => {
      await isDecided;
      return store.send(...args);
    };
    const slow = new Proxy(store, { get: (own, key) => (key === 'send' ? send : Reflect.get(own, key)) });
    const runtime = await createRuntime({ store: slow });
    onTestFinished(() => runtime.close());
    const session = runtime.start(
      await defineAgent({ name: 'late', model: scripted([{ text: DONE, delayMs: 50 }]) }),
      {
        input: 'Go.',
      },
    );
    await seen(session, 'turn.started');
    const steered = [session.steer('Wait.'), runtime.steer(session.id, 'Wait.')].map((sent) =>
      sent.catch((error: unknown) => error),
    );
    await seen(session, 'response');
    decided();
    expect(await Promise.all(steered)).toMatchObject([refused, refused]);
    expect((await session.result).status).toBe('completed');
  });

  it('is refused by another process, too, as long as one works on the session', async () => {
    const { runtime, session, open } = await scene();
    const { store } = runtime;
    await expect(
      steerSession({ store, clock: createSystemClock() }, session.id, 'Wait.'),
    ).rejects.toMatchObject(refused);
    open();
    await session.result;
    const events = await runtime.events(session.id);
    expect(events.map(({ type }) => type)).not.toContain('message.received');
  });

  it('is taken by another process where a chat only has given its answer', async () => {
    const { runtime, session, open } = await scene(createSystemClock(), { chat: true });
    open();
    await seen(session, 'session.waiting');
    await steerSession({ store: runtime.store, clock: createSystemClock() }, session.id, 'One thing more.');
    await seen(session, 'message.received');
    await session.cancel('enough');
  });

  it('is not put on its log where it comes from another process; a cancel is', async () => {
    const { runtime, session } = await scene();
    await runtime.store.send(session.id, { kind: 'steer', from: 'user', body: 'Wait.' });
    await runtime.store.send(session.id, { kind: 'cancel', from: 'ann', body: 'enough' });
    await session.result;
    const events = await runtime.events(session.id);
    expect(events.map(({ type }) => type)).not.toContain('message.received');
    expect(events).toContainEqual(expect.objectContaining({ type: 'audit', what: 'cancel: enough' }));
  });

  it('is answered where the process was stopped before the end, and the session is resumed', async () => {
    const { runtime, session, agent, model, open } = await scene();
    await session.interrupt();
    expect((await session.result).status).toBe('interrupted');
    await runtime.steer(session.id, 'One thing more.');
    open();
    const resumed = await runtime.resume(session.id, { agent });
    expect(await resumed.result).toMatchObject({ status: 'completed', result: 'Read.' });
    expect(model.prompts.at(-1)).toContain('One thing more.');
  });
});

it('a session that is cancelled in its last moments leaves no timer behind', async () => {
  const armed = new Set<number>();
  const system = createSystemClock();
  let timers = 0;
  const { session } = await scene({
    ...system,
    after(delayMs, fire) {
      const timer = ++timers;
      const disarm = system.after(delayMs, () => {
        armed.delete(timer);
        fire();
      });
      armed.add(timer);
      return () => {
        armed.delete(timer);
        disarm();
      };
    },
  });
  expect(armed.size).toBeGreaterThan(0);
  await session.cancel('enough');
  expect(armed).toEqual(new Set());
});
