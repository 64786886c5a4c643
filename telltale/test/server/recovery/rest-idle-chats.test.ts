import { expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { restIdleChats } from '../../../src/server/background.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { agentFolder } from '../../agent/run-agent.ts';

it('a conversation in which nobody says anything is let go of, and goes on with the next word', async () => {
  const folder = agentFolder('', {
    'turns.json': JSON.stringify({
      turns: ['One.', 'Two.', 'Three.'].map((said) => `<response>${said}</response>`),
    }),
  });
  const store = createMemoryStore({ clock: createSystemClock() });
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const runtime = await createRuntime({ store, cwd: folder });
  onTestFinished(() => runtime.close());
  const clock = createSimulatedClock();
  onTestFinished(restIdleChats({ runtime, clock }));
  const model = 'scripted:./turns.json';
  const isIdle = async () => (await runtime.state('ses_talk')).idle;
  const session = runtime.start(agent, { input: 'Hi.', model, chat: true, id: 'ses_talk' });
  await expect.poll(isIdle).toBe(true);
  await clock.advance(50_000);
  await session.say('And?');
  await expect.poll(async () => (await runtime.state('ses_talk')).totals.turns).toBe(2);
  await expect.poll(isIdle).toBe(true);
  await clock.advance(50_000);
  expect(runtime.session('ses_talk')).toBeDefined(); // its last word is not long ago

  await clock.advance(20_000);
  expect(await session.result).toMatchObject({ status: 'interrupted' });
  const info = await store.info('ses_talk');
  expect({ status: info?.status, owner: info?.owner }).toEqual({ status: 'waiting', owner: undefined });

  await store.send('ses_talk', { kind: 'message', from: 'user', body: 'Still there?' });
  await runtime.resume('ses_talk', { agent, model });
  await expect.poll(async () => (await runtime.state('ses_talk')).response?.text).toBe('Three.');
});
