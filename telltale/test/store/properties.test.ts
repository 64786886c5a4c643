import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store, StreamWriter } from '../../src/store/store.ts';
import { moreRuns } from '../more-runs.ts';
import { append } from './appending.ts';
import { corner } from './corner.ts';
import { PATIENT } from './eventually.ts';
import { openInlineStore } from './open-inline-store.ts';
import { type PostgresHome, postgresHome } from './postgres-home.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const HEAD = { kind: 'session', name: 'n', status: 'running', title: 't' } as const;
const STREAMS = ['a', 'b', 'c'] as const;

/** An append to one of the streams; whether it waits for its commit before the next is made. */
const step = fc.record({
  stream: fc.constantFrom(...STREAMS),
  events: fc.array(
    fc.json().map((json) => json.replaceAll('\n', ' ')),
    { maxLength: 5 },
  ),
  waits: fc.boolean(),
});
const range = fc.record({ from: fc.integer({ min: 0, max: 60 }), limit: fc.integer({ min: 0, max: 60 }) });

describe('whatever is appended, in whatever pieces, any range of it is read back', () => {
  let folder: TemporaryFolder;
  let postgres: PostgresHome;
  const stores = new Map<string, Store>();
  let runs = 0;

  beforeAll(async () => {
    folder = await temporaryFolder();
    stores.set('memory', createMemoryStore({ clock: createSystemClock() }));
    stores.set('sqlite', openInlineStore({ path: folder.path('store.db') }));
    postgres = await postgresHome();
    stores.set('postgres', await postgres.open());
  }, PATIENT.timeout);
  afterAll(async () => {
    for (const store of stores.values()) await store.close();
    await folder.remove();
    await postgres.remove();
  });

  test.each([
    ['memory', 40],
    ['sqlite', 40],
    ['postgres', 10],
  ] as const)('in %s', PATIENT, async (kind, numRuns) => {
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: 100 }),
      fc.array(range, { maxLength: 5 }),
      async (steps, ranges) => {
        const store = corner(stores.get(kind) as Store, `run ${++runs}`);
        const written = new Map<string, string[]>();
        const writers = new Map<string, StreamWriter>();
        for (const name of STREAMS) {
          written.set(name, []);
          writers.set(name, await store.create(name, HEAD));
        }
        const pending: Promise<void>[] = [];
        for (const { stream, events, waits } of steps) {
          const log = written.get(stream) as string[];
          const done = append(writers.get(stream) as StreamWriter, { expectedSeq: log.length, events });
          log.push(...events);
          pending.push(done);
          if (waits) await done;
        }
        await Promise.all(pending);
        for (const [name, log] of written) {
          expect(await store.read(name)).toEqual(log);
          expect((await store.info(name))?.head).toBe(log.length);
          for (const { from, limit } of ranges) {
            const first = Math.max(1, from) - 1;
            expect(await store.read(name, { from, limit })).toEqual(log.slice(first, first + limit));
          }
        }
      },
    );
    await fc.assert(property, { numRuns: moreRuns(numRuns) });
  });
});
