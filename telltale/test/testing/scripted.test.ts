import { expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import {
  collectEvents,
  createMemoryStore,
  createSimulatedClock,
  expectEvents,
  runAgent,
  scripted,
} from '../../src/testing/index.ts';

it('a scripted model keeps what it was asked', async () => {
  const model = scripted(['<thought>Hm.</thought>', '<response>Done.</response>']);
  const agent = await defineAgent({ name: 'x', model });
  const { result, observed } = await runAgent(agent, { input: 'Say it.' });
  expect(result.result).toBe('Done.');
  expect(model.prompts).toHaveLength(2);
  expect(model.prompts[0]).toContain('Say it.');
  expectEvents(observed).inOrder('thought.delta', 'thought', 'response.delta', 'session.completed');
});

it('a scripted turn that is missing fails the session, with what to do', async () => {
  const agent = await defineAgent({ name: 'x', model: scripted([]) });
  const { result } = await runAgent(agent, { input: 'Go.' });
  expect(result).toMatchObject({ status: 'failed', error: { code: 'script_ended' } });
});

it('a simulated clock makes a slow model quick, and its times exact', async () => {
  const clock = createSimulatedClock();
  const model = scripted([{ text: '<response>Slowly.</response>', delayMs: 60_000 }], { clock });
  const agent = await defineAgent({ name: 'x', model });
  const runtime = await createRuntime({ store: createMemoryStore({ clock }), clock });
  const session = runtime.start(agent, { input: 'Go.' });
  const events = collectEvents(session);
  await collectEvents(session, ({ type }) => type === 'turn.started');
  await clock.advance(60_000);
  expect((await session.result).status).toBe('completed');
  expectEvents(await events).inOrder({ type: 'turn.completed', ms: 60_000 });
  await runtime.close();
});

it('a memory store outlives the runtimes on it', async () => {
  const store = createMemoryStore();
  const agent = await defineAgent({ name: 'x', model: scripted(['<response>Done.</response>']) });
  const { result } = await runAgent(agent, { input: 'Go.', runtime: { store } });
  const again = await createRuntime({ store });
  expectEvents(await again.events(result.session)).inOrder('session.started', 'session.completed');
  await again.close();
});

it('what happens during a run, and after it, can be taken part in', async () => {
  const agent = await defineAgent({
    name: 'x',
    model: scripted([{ text: '<response>Done.</response>', tokensPerSecond: 50 }]),
  });
  const ended: string[] = [];
  const { result } = await runAgent(agent, {
    input: 'Go.',
    during: (session) => session.cancel('not today'),
    after: async (session, runtime) => void ended.push((await runtime.state(session)).status),
  });
  expect(result.status).toBe('cancelled');
  expect(ended).toEqual(['cancelled']);
});
