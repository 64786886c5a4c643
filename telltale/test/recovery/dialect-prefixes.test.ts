import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { Model } from '../../src/models/model.ts';
import { modelCancelled } from '../../src/models/model-errors.ts';
import type { CallDialect } from '../../src/parser/dialect-parser.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { spyOn } from '../../src/testing/crash.ts';
import { type Deed, speak } from '../agent/speak.ts';
import { checkSurvival, responsesOf } from './check-survival.ts';
import { labFolder } from './lab-tools.ts';
import { QUICK_TOOLS } from './quick-agent.ts';
import { readJournal } from './scene.ts';

const SIDE_BY_SIDE = 8;
const TIMEOUT_MS = 60_000;

const text = (value: string) => ({ text: value });
const FINAL = ['l', 's', 'c', 'f', 'p'].map((id) => `${id} is $${id}.`).join('\n');

/** A few of everything that can be said with native calls. */
const TURNS: readonly (readonly Deed[])[] = [
  [
    { think: 'I begin with prose.' },
    { metadata: { stage: 'BEGUN' } },
    { call: 'list', run: { id: 'l' } },
    { call: 'send', input: text('$l[1]'), run: { id: 's', output_key: 'sent' } },
    { call: 'copy', input: text('$sent'), run: { id: 'c', depends_on: ['s'] } },
    { call: 'copy', input: text('without an id') },
    { call: 'copy', run: { id: 'odd', wait: true } },
    { call: 'publish', input: text('at the end'), run: { id: 'pub' } },
    { respond: 'So far $c.', final: false },
  ],
  [
    { metadata: { stage: 'NOWHERE' } },
    { call: 'flaky', run: { id: 'f', retry: 2 } },
    { call: 'broken', run: { id: 'b' } },
    { call: 'copy', input: text('never'), run: { depends_on: ['b'] } },
    { call: 'send', input: text('two'), run: { id: 'p' } },
    { call: 'write', run: { id: 'w', mode: 'sync', compensate: { name: 'undo' } } },
    { call: 'rollback', type: 'internal', input: { to: 'w' }, run: { id: 'rb', mode: 'sync' } },
    { call: 'send', input: text('nobody waits'), run: { id: 'ff', mode: 'fire_and_forget' } },
  ],
  ...Array.from({ length: 6 }, (): readonly Deed[] => [{ respond: FINAL }]),
];

/** Says the script a few characters at a time and lets everything else have its turn in between. */
const patient = (script: readonly string[]): Model => ({
  id: 'patient',
  async stream({ turn, signal }, sink) {
    const said = script[turn - 1] ?? '';
    for (let at = 0; at < said.length; at += 3) {
      if (signal.aborted) throw modelCancelled('patient');
      sink.text(said.slice(at, at + 3));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { finish: 'stop' };
  },
});

describe.each(['tools', 'step'] as const satisfies readonly CallDialect[])(
  'a log in the dialect %s',
  (dialect) => {
    it(
      'that ends behind any of its appends is taken up there, and comes to the same end',
      async () => {
        const script = TURNS.map((deeds) => speak(dialect, deeds));
        const folder = labFolder(
          QUICK_TOOLS,
          { turns: script, tokens_per_second: 20_000 },
          `dialect: ${dialect}\nbudget: { balance: 100, costs: { turn: 1, action: 1 } }`,
        );
        const agent = await loadAgent('agent.yml', { cwd: folder });
        const store = spyOn(createMemoryStore({ clock: createSystemClock() }));
        const runtime = await createRuntime({ store, cwd: folder });
        await runtime.start(agent, { input: 'Do all of it.', id: 'whole', model: patient(script) }).result;
        const undisturbed = responsesOf(await runtime.events('whole'));
        const left = store.boundaries.slice(0, -1); // the last one completes it
        expect(left.length).toBeGreaterThan(30);
        const wrong: string[] = [];
        const worker = async () => {
          for (let at = left.shift(); at !== undefined; at = left.shift()) {
            const id = await runtime.fork('whole', at, { id: `from_${at}` });
            const before = await runtime.events(id);
            await (await runtime.resume(id, { agent })).result;
            const log = await runtime.events(id);
            try {
              checkSurvival({
                tools: QUICK_TOOLS,
                script,
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
  },
);
