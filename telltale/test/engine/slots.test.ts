import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSharedSlots } from '../../src/engine/shared-slots.ts';
import type { FreeSlot, Slots } from '../../src/engine/slots.ts';
import { createLocalSlots } from '../../src/engine/slots.ts';
import { createSystemClock, sleep } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock, type SimulatedClock } from '../../src/lib/simulated-clock.ts';
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import type { SharedSlots, SharedStore } from '../../src/store/shared-store.ts';
import type { Store } from '../../src/store/store.ts';
import { moreRuns } from '../more-runs.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { PATIENT } from '../store/eventually.ts';
import { type TemporaryFolder, temporaryFolder } from '../store/temporary-folder.ts';

const NEVER = new AbortController().signal;
const KEY = 'tool t';

/** Takes slots and notes who has one. */
function createCounter(slots: Slots, max: number, key = KEY) {
  const order: string[] = [];
  const held = new Map<string, FreeSlot>();
  return {
    order,
    held,
    async take(name: string, group = name, signal = NEVER): Promise<void> {
      const free = await slots.take(key, max, { group, signal });
      order.push(name);
      held.set(name, free);
    },
    free(name: string) {
      held.get(name)?.();
      held.delete(name);
    },
  };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('slots of one process', () => {
  it('are taken without a wait while there are some, and then in the order of asking', async () => {
    const slots = createLocalSlots();
    expect(typeof slots.take(KEY, 1, { group: 'a', signal: NEVER })).toBe('function');
    const counter = createCounter(slots, 3);
    for (const name of ['one', 'two', 'three', 'four']) void counter.take(name, 'a');
    await settled();
    expect(counter.order).toEqual(['one', 'two']);
    counter.free('one');
    counter.free('one');
    await settled();
    expect(counter.order).toEqual(['one', 'two', 'three']);
    counter.free('three');
    await settled();
    expect(counter.order).toEqual(['one', 'two', 'three', 'four']);
  });

  it('are of one key only', async () => {
    const slots = createLocalSlots();
    slots.take('x', 1, { group: 'a', signal: NEVER });
    expect(typeof slots.take('y', 1, { group: 'a', signal: NEVER })).toBe('function');
    expect(slots.take('x', 1, { group: 'a', signal: NEVER })).toBeInstanceOf(Promise);
  });

  it('go to sessions by turns, so that one that asks for a hundred makes no other wait for them', async () => {
    const counter = createCounter(createLocalSlots(), 1);
    for (let n = 0; n < 100; n++) void counter.take(`greedy ${n}`, 'greedy');
    void counter.take('modest', 'modest');
    for (let n = 0; n < 101; n++) {
      await settled();
      counter.free(counter.order[n] ?? '');
    }
    expect(counter.order.indexOf('modest')).toBe(2);
    expect(counter.order).toHaveLength(101);
  });

  it('are not taken by whoever was cancelled while it waited, nor before it asked', async () => {
    const slots = createLocalSlots();
    const counter = createCounter(slots, 1);
    const cancel = new AbortController();
    void counter.take('first');
    const waits = counter.take('cancelled', 'b', cancel.signal);
    void counter.take('second');
    cancel.abort(new Error('enough'));
    await expect(waits).rejects.toThrow('enough');
    await expect(slots.take(KEY, 9, { group: 'c', signal: cancel.signal })).rejects.toThrow('enough');
    counter.free('first');
    await settled();
    expect(counter.order).toEqual(['first', 'second']);
  });

  it('with another limit than before are counted by it, and whoever has the turn goes first', async () => {
    const slots = createLocalSlots();
    const one = createCounter(slots, 1);
    const two = createCounter(slots, 2);
    void two.take('a');
    void one.take('b');
    void two.take('c');
    await settled();
    expect([one.order, two.order]).toEqual([[], ['a']]);
    two.free('a');
    await settled();
    expect([one.order, two.order]).toEqual([['b'], ['a', 'c']]);
  });
});

const LEASE_MS = 7_500;

/** A database of slots, which answers late, and the processes that ask it. */
function createDatabase(clock: SimulatedClock, latency: () => number) {
  const rows = new Map<string, { readonly key: string; readonly process: number }>();
  const listeners = new Set<{ readonly process: number; readonly moved: () => void }>();
  const dead = new Set<number>();
  const failing = { takes: 0, frees: 0, lostPokes: false };
  let most = 0;
  let asks = 0;
  const asking = new Map<number, number>();
  const lateAnswer = async (process: number) => {
    await sleep(clock, latency());
    if (dead.has(process)) await new Promise(() => undefined);
  };
  const connect = (process: number): SharedSlots => ({
    async take(key, max, holder) {
      asks++;
      asking.set(process, (asking.get(process) ?? 0) + 1);
      expect(asking.get(process)).toBe(1);
      await lateAnswer(process);
      const isFree = rows.size < max;
      if (isFree) rows.set(holder, { key, process });
      most = Math.max(most, rows.size);
      await lateAnswer(process);
      asking.set(process, 0);
      if (failing.takes-- > 0) throw new RuntimeError('store_failed', 'Cut.', { retryable: true });
      return isFree;
    },
    async free(_, holder) {
      await lateAnswer(process);
      if (failing.frees-- > 0) throw new RuntimeError('store_failed', 'Cut.', { retryable: true });
      if (!rows.delete(holder) || failing.lostPokes) return;
      for (const listener of [...listeners]) clock.after(latency(), listener.moved);
    },
    onFree(_, moved) {
      const listener = { process, moved };
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  return {
    connect,
    failing,
    kill(process: number) {
      dead.add(process);
      clock.after(LEASE_MS, () => {
        for (const [holder, row] of rows) if (row.process === process) rows.delete(holder);
      });
    },
    isDead: (process: number) => dead.has(process),
    most: () => most,
    asks: () => asks,
    rows,
    listening: () => listeners.size,
  };
}

type Database = ReturnType<typeof createDatabase>;

const openProcess = (database: Database, clock: SimulatedClock, process: number): Slots =>
  createSharedSlots({ slots: database.connect(process), local: createLocalSlots(), clock });

describe('slots of several processes', () => {
  const openTwo = (latencyMs = 1) => {
    const clock = createSimulatedClock();
    const database = createDatabase(clock, () => latencyMs);
    return { clock, database, slots: [1, 2].map((n) => openProcess(database, clock, n)) as [Slots, Slots] };
  };

  it('are as many as there are, over all of them, and one that comes free goes to another process', async () => {
    const { clock, database, slots } = openTwo();
    const [here, there] = slots.map((each) => createCounter(each, 2)) as [
      ReturnType<typeof createCounter>,
      ReturnType<typeof createCounter>,
    ];
    void here.take('a');
    void here.take('b');
    await clock.advance(20);
    void there.take('c');
    await clock.advance(1_000);
    expect([here.order, there.order]).toEqual([['a', 'b'], []]);
    here.free('a');
    await clock.advance(20); // told, and not found by chance: it would look again much later
    expect(there.order).toEqual(['c']);
    expect(database.most()).toBe(2);
    there.free('c');
    here.free('b');
    await clock.runAll();
    expect(database.rows.size).toBe(0);
    expect(database.listening()).toBe(0);
  });

  it('of a process that died are free after its lease, though nobody says so', async () => {
    const { clock, database, slots } = openTwo();
    const there = createCounter(slots[1], 1);
    void slots[0].take(KEY, 1, { group: 'a', signal: NEVER });
    await clock.advance(10);
    void there.take('b');
    database.kill(1);
    await clock.advance(LEASE_MS - 10);
    expect(there.order).toEqual([]);
    await clock.advance(2_100);
    expect(there.order).toEqual(['b']);
  });

  it('are found by looking where the word that one is free was lost', async () => {
    const { clock, database, slots } = openTwo();
    database.failing.lostPokes = true;
    const [here, there] = [createCounter(slots[0], 1), createCounter(slots[1], 1)];
    void here.take('a');
    await clock.advance(10);
    void there.take('b');
    await clock.advance(10_000);
    const asks = database.asks();
    expect(asks).toBeLessThan(15); // it looks more and more seldom
    here.free('a');
    await clock.advance(2_100);
    expect(there.order).toEqual(['b']);
  });

  it('are given back where a call was cancelled while the database thought about it', async () => {
    const { clock, database, slots } = openTwo(50);
    const cancel = new AbortController();
    const taking = Promise.resolve(slots[0].take(KEY, 1, { group: 'a', signal: cancel.signal }));
    taking.catch(() => undefined);
    await clock.advance(60);
    expect(database.rows.size).toBe(1);
    cancel.abort(new Error('enough'));
    await clock.advance(200);
    await expect(taking).rejects.toThrow('enough');
    expect(database.rows.size).toBe(0);
    const counter = createCounter(slots[0], 1);
    void counter.take('next');
    await clock.advance(200);
    expect(counter.order).toEqual(['next']);
  });

  it('neither leak nor double where the connection is cut in the middle of an ask or a return', async () => {
    const { clock, database, slots } = openTwo();
    database.failing.takes = 1;
    const counter = createCounter(slots[0], 1);
    void counter.take('a');
    await clock.advance(500);
    expect(counter.order).toEqual(['a']);
    expect(database.rows.size).toBe(1);
    database.failing.frees = 3;
    counter.free('a');
    await clock.advance(2_000);
    expect(database.rows.size).toBe(0);
  });

  it('that cannot be asked for at all are refused with the reason', async () => {
    const clock = createSimulatedClock();
    const closed = new RuntimeError('store_closed', 'Closed.');
    const slots = createSharedSlots({
      slots: {
        take: () => Promise.reject(closed),
        free: () => Promise.reject(closed),
        onFree: () => () => undefined,
      },
      local: createLocalSlots(),
      clock,
    });
    await expect(slots.take(KEY, 1, { group: 'a', signal: NEVER })).rejects.toBe(closed);
    await clock.advance(100);
    expect(clock.pending).toBe(0);
  });

  it('are left to others after a few in a row, so that a process with a long line starves nobody', async () => {
    const { clock, slots } = openTwo();
    const busy = { group: 'a', signal: NEVER };
    let done = 0;
    const work = async () => {
      const free = await slots[0].take(KEY, 1, busy);
      await sleep(clock, 10);
      done++;
      free();
    };
    for (let n = 0; n < 200; n++) void work();
    const other = createCounter(slots[1], 1);
    await clock.advance(15);
    void other.take('modest');
    await clock.advance(9 * 15 + 100);
    expect(other.order).toEqual(['modest']);
    expect(done).toBeLessThan(20);
    other.free('modest');
    await clock.runAll();
    expect(done).toBe(200);
  });

  it('are never more than there are, and everybody gets one, whoever dies, is cancelled or is cut off', async () => {
    const call = fc.record({
      process: fc.integer({ min: 1, max: 3 }),
      group: fc.constantFrom('s1', 's2'),
      at: fc.nat(200),
      ms: fc.nat(50),
      cancelAfter: fc.option(fc.nat(100), { freq: 4, nil: undefined }),
    });
    const plan = fc.record({
      max: fc.integer({ min: 1, max: 3 }),
      calls: fc.array(call, { minLength: 1, maxLength: 25 }),
      latencies: fc.array(fc.nat(20), { minLength: 1, maxLength: 10 }),
      killAt: fc.option(fc.nat(250), { nil: undefined }),
      cuts: fc.nat(3),
      lostPokes: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ max, calls, latencies, killAt, cuts, lostPokes }) => {
        const clock = createSimulatedClock();
        let nth = 0;
        const database = createDatabase(clock, () => latencies[nth++ % latencies.length] ?? 0);
        database.failing.takes = cuts;
        database.failing.frees = cuts;
        database.failing.lostPokes = lostPokes;
        const processes = [1, 2, 3].map((n) => openProcess(database, clock, n));
        const running = new Set<(typeof calls)[number]>();
        // What a dead process began is no call any more.
        const alive = () => [...running].filter(({ process }) => !database.isDead(process)).length;
        const ends: string[] = [];
        const perform = async (made: (typeof calls)[number]) => {
          const { process, group, at, ms, cancelAfter } = made;
          await sleep(clock, at);
          const cancel = new AbortController();
          if (cancelAfter !== undefined) clock.after(cancelAfter, () => cancel.abort(new Error('cancelled')));
          try {
            const free = await (processes[process - 1] as Slots).take(KEY, max, {
              group,
              signal: cancel.signal,
            });
            running.add(made);
            expect(alive()).toBeLessThanOrEqual(max);
            await sleep(clock, ms);
            if (database.isDead(process)) return;
            running.delete(made);
            free();
            ends.push('done');
          } catch (thrown) {
            if ((thrown as Error).message !== 'cancelled') throw thrown;
            ends.push('cancelled');
          }
        };
        const all = calls.map(perform);
        let failure: unknown;
        for (const each of all)
          each.catch((thrown) => {
            failure ??= thrown;
          });
        if (killAt !== undefined) clock.after(killAt, () => database.kill(1));
        await clock.advance(60_000);
        if (failure !== undefined) throw failure;
        const ofDead = killAt === undefined ? 0 : calls.filter(({ process }) => process === 1).length;
        expect(ends.length).toBeGreaterThanOrEqual(calls.length - ofDead);
        expect(database.most()).toBeLessThanOrEqual(max);
        expect(database.rows.size).toBe(0);
      }),
      { numRuns: moreRuns(150) },
    );
  });
});

describe('slots of several processes on a real PostgreSQL', PATIENT, () => {
  let database: TestDatabase;
  let folder: TemporaryFolder;
  let stores: readonly Store[] = [];
  beforeAll(async () => {
    [database, folder] = await Promise.all([testDatabase(), temporaryFolder()]);
    const shared = { url: database.url, graphs: folder.path('graphs.db'), pid: process.pid } as const;
    const open = () => openPostgresStore({ ...shared, durability: 'process', clock: createSystemClock() });
    stores = [await open(), await open(), await open()];
  }, PATIENT.timeout);
  afterAll(async () => {
    for (const store of stores) await store.close();
    await database.remove();
    await folder.remove();
  });

  it('are never more than there are, and all come to their turn', async () => {
    const clock = createSystemClock();
    const processes = stores.map((store) =>
      createSharedSlots({ slots: (store.shared as SharedStore).slots, local: createLocalSlots(), clock }),
    );
    let now = 0;
    let most = 0;
    const work = async (slots: Slots, group: string) => {
      const free = await slots.take(KEY, 2, { group, signal: NEVER });
      most = Math.max(most, ++now);
      await sleep(clock, 3);
      now--;
      free();
    };
    await Promise.all(Array.from({ length: 45 }, (_, n) => work(processes[n % 3] as Slots, `ses_${n % 5}`)));
    expect(most).toBe(2);
  });
});
