import { expect, it } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import type { Model } from '../../../src/models/model.ts';
import { modelCancelled } from '../../../src/models/model-errors.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { agentFolder } from '../run-agent.ts';
import { call, calls, speaking } from './run-team.ts';

const SESSION = 'ses_1';
const CHILD = `${SESSION}.a1`;

const isCaller = (system: string) => calls({ system }, 'helper') !== undefined;
const says = (system: string) =>
  isCaller(system) ? `${call('a1', 'helper')}<response>$a1</response>` : '<response>Helped.</response>';

/** The sub-agent speaks until it is stopped. */
const hanging: Model = {
  id: 'scripted:hanging',
  async stream({ system, signal }, sink) {
    await undefined;
    if (isCaller(system)) sink.text(says(system));
    else {
      sink.text('<thought>I am at it.');
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      throw modelCancelled('scripted:hanging');
    }
    return { finish: 'stop' };
  },
};

it('a sub-agent whose log somebody has for a moment, to answer its question, is waited for', async () => {
  const cwd = agentFolder('import: { agents: [./helper.yml] }\n', {
    'helper.yml': 'kind: Agent\nname: helper\n',
  });
  const store = createMemoryStore({ clock: createSystemClock() });
  const agent = await loadAgent('agent.yml', { cwd });
  const first = await createRuntime({ store, cwd });
  const session = first.start(agent, { input: 'Go.', id: SESSION, model: hanging });
  await expect.poll(async () => (await store.info(CHILD))?.head).toBeGreaterThan(1);
  await session.interrupt();
  await first.close();
  const answering = await store.acquire(CHILD);
  let refused = 0;
  const second = await createRuntime({
    store: {
      ...store,
      acquire: (stream) =>
        store.acquire(stream).catch((thrown: unknown) => {
          refused++;
          throw thrown;
        }),
    },
    cwd,
  });
  const again = await second.resume(SESSION, { agent, model: speaking(({ system }) => says(system)) });
  await expect.poll(() => refused).toBeGreaterThan(0);
  await answering.release();
  expect(await again.result).toMatchObject({ status: 'completed', result: 'Helped.' });
  await second.close();
});
