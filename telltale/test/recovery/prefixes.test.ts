import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createSystemClock } from '../../src/kernel/clock.ts';
import type { Model } from '../../src/models/model.ts';
import { modelCancelled } from '../../src/models/model-errors.ts';
import { createRuntime } from '../../src/session/create-runtime.ts';
import { loadAgent } from '../../src/session/load-agent.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { checkSurvival, responsesOf } from './check-survival.ts';
import { makeQuickAgent, QUICK_SCRIPT, QUICK_TOOLS } from './quick-agent.ts';
import { readJournal } from './scene.ts';
import { spyOn } from './spied-store.ts';

const SIDE_BY_SIDE = 8;
const TIMEOUT_MS = 60_000;

/** Says the script a few characters at a time and lets everything else have its turn in between. */
const patientModel: Model = {
  id: 'patient',
  async stream({ turn, signal }, sink) {
    const text = QUICK_SCRIPT[turn - 1] ?? '';
    for (let at = 0; at < text.length; at += 3) {
      if (signal.aborted) throw modelCancelled('patient');
      sink.text(text.slice(at, at + 3));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { finish: 'stop' };
  },
};

describe('a log', () => {
  it(
    'that ends behind any of its appends is taken up there, and comes to the same end',
    async () => {
      const folder = makeQuickAgent();
      const agent = await loadAgent('agent.yml', { cwd: folder });
      const store = spyOn(createMemoryStore({ clock: createSystemClock() }));
      const runtime = await createRuntime({ store, cwd: folder });
      const whole = runtime.start(agent, { input: 'Do all of it.', id: 'whole', model: patientModel });
      await whole.result;
      const undisturbed = responsesOf(await runtime.events('whole'));
      const left = store.boundaries.slice(0, -1); // the last one completes it
      expect(left.length).toBeGreaterThan(40);
      const wrong: string[] = [];
      const worker = async () => {
        for (let at = left.shift(); at !== undefined; at = left.shift()) {
          const id = await runtime.fork('whole', at, { id: `from_${at}` });
          const before = await runtime.events(id);
          expect(before[0]).toMatchObject({ forked: { session: 'whole', seq: at } });
          const session = await runtime.resume(id, { agent });
          await session.result;
          const log = await runtime.events(id);
          try {
            checkSurvival({
              tools: QUICK_TOOLS,
              script: QUICK_SCRIPT,
              printed: [],
              scenes: [{ log: before, journalLength: 0 }],
              log,
              journal: readJournal(folder).filter((line) => line.session === id),
              elsewhere: before.flatMap((event) => (event.type === 'action.completed' ? [event.id] : [])),
              undisturbed,
            });
          } catch (thrown) {
            const tail = log
              .slice(at)
              .map((event) => JSON.stringify(event).slice(0, 300))
              .join('\n');
            wrong.push(`behind event ${at}: ${(thrown as Error).message}\n${tail}`);
          }
        }
      };
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
      await runtime.close();
      rmSync(folder, { recursive: true });
      expect(wrong).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
