import { beforeEach, describe, expect, test } from 'vitest';
import type { SimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { Store } from '../../src/store/store.ts';
import { checkStore } from '../../src/store/upkeep/check-store.ts';
import { type PruneRules, pruneStore } from '../../src/store/upkeep/prune-store.ts';
import { RESTORING } from '../../src/store/upkeep/upkeep.ts';
import { append } from './appending.ts';
import { COMPLETED, keepRun, keepSession, linesOf, putSession, sessionLog, thought } from './stored-logs.ts';
import type { TemporaryFolder } from './temporary-folder.ts';
import { meddle, setUpUpkeep } from './upkeep-stage.ts';

/** Above the largest pid that Linux gives. */
const NOBODY = 5_000_000;
const DAY = 86_400_000;

const stage = setUpUpkeep();
const { inMemory, sqlite } = stage;
let clock: SimulatedClock;
let folder: TemporaryFolder;
beforeEach(() => {
  ({ clock, folder } = stage);
});

describe('pruning', () => {
  const names = async (store: Store) => (await store.list()).map(({ stream }) => stream).sort();
  const prune = (store: Store, rules: Partial<PruneRules>, dryRun = false) =>
    pruneStore(store, { rules: { now: clock.now(), ...rules }, dryRun });

  /** By a day, from the newest: 0 is the last one made. */
  const made = async (
    store: Store,
    count: number,
    parts: Parameters<typeof keepSession>[2] = {},
    name = 'coder',
  ) => {
    for (let n = count - 1; n >= 0; n--) {
      await keepSession(store, `ses_${name}_${n}`, { ...parts, head: { name } });
      await clock.advance(DAY);
    }
  };

  test('goes by age, by number, or by both, in which case what one keeps stays', async () => {
    for (const open of [inMemory, sqlite]) {
      const store = open();
      await made(store, 5);
      await made(store, 2, {}, 'writer');
      expect(await prune(store, { olderThanMs: 6.5 * DAY }, true)).toMatchObject({
        trees: 1,
        events: 2,
        kept: { byRule: 6 },
      });
      expect((await prune(store, { olderThanMs: 6.5 * DAY })).bytes).toBeGreaterThan(100);
      expect(await names(store)).not.toContain('ses_coder_4');
      await prune(store, { keep: 3, olderThanMs: 0 });
      expect(await names(store)).toHaveLength(5);
      await prune(store, { keep: 1, name: 'coder' });
      expect(await names(store)).toEqual(['ses_coder_0', 'ses_writer_0', 'ses_writer_1']);
      await prune(store, { keep: 1, olderThanMs: 10 * DAY });
      expect(await names(store)).toHaveLength(3);
      expect((await checkStore(store)).faults).toEqual([]);
    }
  });

  test('takes what was called with who called, and only where all of it has ended', async () => {
    const store = sqlite();
    await keepSession(store, 'ses_done');
    await keepRun(store, 'run_done', { parent: 'ses_done' });
    await keepSession(store, 'ses_deep', { head: { parent: 'run_done' } });
    await keepSession(store, 'ses_busy');
    await keepRun(store, 'run_waits', { parent: 'ses_busy' }, { type: 'workflow.waiting', for: 'x' });
    await keepSession(store, 'ses_running', { bodies: [thought('a')] });
    await keepSession(store, 'ses_child', { head: { parent: 'ses_running' } });
    await keepSession(store, 'ses_lost', { head: { parent: 'gone' } });
    const owned = await putSession(store, 'ses_owned');
    const report = await prune(store, { olderThanMs: 0 });
    expect(report).toMatchObject({ trees: 2, streams: 4, kept: { alive: 3, byRule: 0 } });
    expect(await names(store)).toEqual(['run_waits', 'ses_busy', 'ses_child', 'ses_owned', 'ses_running']);
    await owned.release();
    expect(await prune(store, { olderThanMs: 0, statuses: ['failed'] })).toMatchObject({ trees: 0 });
    expect(await prune(store, { olderThanMs: 0, statuses: ['completed'] })).toMatchObject({ trees: 1 });
    expect((await checkStore(store)).faults).toEqual([]);
  });

  test('a tree is as old as the youngest of it', async () => {
    const store = inMemory();
    await keepSession(store, 'ses_old');
    await clock.advance(10 * DAY);
    await keepRun(store, 'run_new', { parent: 'ses_old' });
    expect(await prune(store, { olderThanMs: 5 * DAY })).toMatchObject({ trees: 0, kept: { byRule: 1 } });
    await clock.advance(6 * DAY);
    expect(await prune(store, { olderThanMs: 5 * DAY })).toMatchObject({ trees: 1, streams: 2 });
  });

  test('what somebody takes up in that moment stays, with all that it called', async () => {
    const path = folder.path('store.db');
    const [store, other] = [sqlite(path), sqlite(path, NOBODY)];
    await keepSession(store, 'ses_a');
    await keepSession(store, 'ses_b', { head: { parent: 'ses_a' } });
    const { acquire } = store;
    let taken = false;
    const racing: Store = {
      ...store,
      async acquire(stream) {
        if (stream !== 'ses_b' || taken) return acquire(stream);
        taken = true;
        const writer = await other.acquire('ses_b');
        await append(writer, {
          expectedSeq: 2,
          events: linesOf(sessionLog('ses_b', [COMPLETED, thought('on')])).slice(2),
        });
        return acquire(stream);
      },
    };
    expect(await prune(racing, { olderThanMs: 0 })).toMatchObject({ trees: 0, kept: { alive: 1 } });
    expect(await names(store)).toEqual(['ses_a', 'ses_b']);
    expect(await store.info('ses_a')).not.toHaveProperty('owner');
  });

  test('empty streams that nobody owns go, those that are being put in do not', async () => {
    const path = folder.path('store.db');
    const dead = sqlite(path, NOBODY);
    const head = { kind: 'session', name: 'n', title: '' } as const;
    await dead.create('ses_empty', { ...head, status: 'running' });
    await dead.create('ses_half', { ...head, status: RESTORING });
    const store = sqlite(path);
    await prune(store, { olderThanMs: 0 });
    expect(await names(store)).toEqual(['ses_half']);
  });

  test('many interleaved streams leave the others readable and the file small', async () => {
    const store = sqlite();
    const writers = await Promise.all(
      Array.from({ length: 4 }, (_, n) => putSession(store, `ses_${n}`, { bodies: [COMPLETED] })),
    );
    for (let at = 0; at < 80; at++)
      for (const [n, writer] of writers.entries()) {
        const body = thought(`${n} ${at} ${'x'.repeat(500)}`);
        const [line = ''] = linesOf(sessionLog(`ses_${n}`, [COMPLETED, ...Array(at).fill(body), body])).slice(
          -1,
        );
        await append(writer, { expectedSeq: 2 + at, events: [line] });
      }
    for (const writer of writers.slice(0, 3)) await writer.release();
    await prune(store, { olderThanMs: 0 });
    expect(await names(store)).toEqual(['ses_3']);
    expect((await store.read('ses_3', { from: 70, limit: 3 })).map((line) => JSON.parse(line).seq)).toEqual([
      70, 71, 72,
    ]);
    const compacted = await store.upkeep.compact();
    expect(compacted.afterBytes).toBeLessThan(compacted.beforeBytes);
    expect((await checkStore(store)).faults).toEqual([]);
  });

  test('what somebody works on or takes out in that moment stays, and is no failure', async () => {
    const path = folder.path('store.db');
    const [store, other] = [sqlite(path), sqlite(path)];
    for (const session of ['ses_taken', 'ses_gone', 'ses_left']) await keepSession(store, session);
    const { acquire } = store;
    const racing: Store = {
      ...store,
      async acquire(stream) {
        if (stream !== 'ses_left') {
          const writer = await other.acquire(stream);
          if (stream === 'ses_gone') {
            await other.upkeep.remove(stream, writer.epoch);
            await writer.release();
          }
        }
        return acquire(stream);
      },
    };
    expect(await prune(racing, {})).toMatchObject({ trees: 1, streams: 1, kept: { alive: 2, byRule: 0 } });
    expect(await names(store)).toEqual(['ses_taken']);
  });

  test('a failure to take a stream is told, and no other', async () => {
    const store = inMemory();
    await keepSession(store, 'ses_a');
    const broken: Store = { ...store, acquire: () => Promise.reject(new Error('of the disk')) };
    await expect(prune(broken, {})).rejects.toThrow('of the disk');
    expect(await names(store)).toEqual(['ses_a']);
  });

  test('nothing of a stream is left whose rows no longer lead to each other', async () => {
    const store = sqlite();
    await keepSession(store, 'ses_kept', { bodies: [thought('a')] });
    const writer = await putSession(store, 'ses_a', { bodies: [COMPLETED] });
    const lines = linesOf(sessionLog('ses_a', [COMPLETED, thought('b'), thought('c'), thought('d')]));
    for (const at of [2, 3, 4]) await append(writer, { expectedSeq: at, events: lines.slice(at, at + 1) });
    await writer.release();
    meddle(store, 'DELETE FROM log WHERE first = 4');
    expect(await prune(store, {})).toMatchObject({ trees: 1 });
    expect((await checkStore(store)).faults).toEqual([]);
    expect(await store.read('ses_kept')).toHaveLength(2);
  });

  test('a file with little to gain is left as it is', async () => {
    const store = sqlite();
    await keepSession(store, 'ses_a');
    const { bytes } = await store.upkeep.describe();
    expect(await store.upkeep.compact()).toEqual({ beforeBytes: bytes, afterBytes: bytes, left: 'little' });
  });
});
