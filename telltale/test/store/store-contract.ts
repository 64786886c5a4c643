import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Json } from '../../src/kernel/json.ts';
import { createSimulatedClock, type SimulatedClock } from '../../src/kernel/simulated-clock.ts';
import type { Append, Store, StreamHead, StreamWriter } from '../../src/store/store.ts';
import { append, lines, outcome } from './appending.ts';
import { corner } from './corner.ts';
import { eventually } from './eventually.ts';

/** A place where stores live, made anew for each test. */
export interface StoreHome {
  /** A store on this place; several may be open at once, as in several processes. */
  open(clock: SimulatedClock): Promise<Store>;
  /** One whose process looks dead to the others. */
  openDead(clock: SimulatedClock): Promise<Store>;
  /** The pid that `open` gives to its stores. */
  readonly pid: number;
  remove(): Promise<void>;
}

const SESSION: StreamHead = { kind: 'session', name: 'writer', status: 'running', title: 'A title' };

/** What every home of the log promises. */
export function storeContract(makeHome: () => Promise<StoreHome>): void {
  let home: StoreHome;
  let clock: SimulatedClock;
  /** Stores that tests share, each test in its own corner of them. */
  let shared: Record<'store' | 'other' | 'dead', Store>;
  let store: Store;
  let other: Store;
  let dead: Store;
  let tests = 0;

  beforeAll(async () => {
    clock = createSimulatedClock();
    home = await makeHome();
    const [first, second, third] = [home.open(clock), home.open(clock), home.openDead(clock)];
    shared = { store: await first, other: await second, dead: await third };
  });
  beforeEach(() => {
    const prefix = `test ${++tests}`;
    store = corner(shared.store, prefix);
    other = corner(shared.other, prefix);
    dead = corner(shared.dead, prefix);
  });
  /** For tests of a store as a whole: opens others on a home that is theirs alone. */
  const alone = async (run: (open: (how?: 'open' | 'openDead') => Promise<Store>) => Promise<void>) => {
    const own = await makeHome();
    const opened: Store[] = [];
    try {
      await run(async (how = 'open') => {
        const one = await own[how](clock);
        opened.push(one);
        return one;
      });
    } finally {
      for (const one of opened) await one.close();
      await own.remove();
    }
  };
  afterAll(async () => {
    for (const one of Object.values(shared)) await one.close();
    await home.remove();
  });

  describe('appends', () => {
    test('what was appended is read back, in order', async () => {
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: ['{"a":1}', '{"b":"ü\\n𝄞"}'] });
      await append(writer, { expectedSeq: 2, events: ['{"c":3}'] });
      expect(await store.read('s')).toEqual(['{"a":1}', '{"b":"ü\\n𝄞"}', '{"c":3}']);
      expect(await store.info('s')).toMatchObject({ head: 3 });
    });

    test('an append returns before it is settled', async () => {
      const writer = await store.create('s', SESSION);
      let isSettled = false;
      const settled = new Promise<void>((resolve) => {
        writer.append({ expectedSeq: 0, events: ['{}'] }, () => {
          isSettled = true;
          resolve();
        });
      });
      expect(isSettled).toBe(false);
      await settled;
    });

    test('a hundred queued appends of several writers settle in the order of the calls', async () => {
      const writers = await Promise.all(['a', 'b', 'c'].map((name) => store.create(name, SESSION)));
      const order: number[] = [];
      await Promise.all(
        Array.from({ length: 100 }, (_, n) => {
          const writer = writers[n % 3] as StreamWriter;
          return append(writer, { expectedSeq: Math.floor(n / 3), events: [`{"n":${n}}`] }, () =>
            order.push(n),
          );
        }),
      );
      expect(order).toEqual(Array.from({ length: 100 }, (_, n) => n));
      expect(await store.read('b')).toEqual(Array.from({ length: 33 }, (_, n) => `{"n":${n * 3 + 1}}`));
    });

    test('an append that expects another seq is refused with stream_moved, and so is every later one', async () => {
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: ['{"n":1}'] });
      expect(await outcome(writer, { expectedSeq: 0, events: ['{"n":2}'] })).toMatchObject({
        code: 'stream_moved',
      });
      expect(await outcome(writer, { expectedSeq: 1, events: ['{"n":3}'] })).toMatchObject({
        code: 'stream_moved',
      });
      expect(await store.read('s')).toEqual(['{"n":1}']);
    });

    test('a writer whose stream was taken over is refused with stream_lost, and nothing of its batch is there', async () => {
      const late = await dead.create('s', SESSION);
      await append(late, { expectedSeq: 0, events: ['{"by":"first"}'] });
      const writer = await store.acquire('s');
      expect(writer.epoch).toBeGreaterThan(late.epoch);
      expect(writer.head).toBe(1);
      await append(writer, { expectedSeq: 1, events: ['{"by":"second"}'] });
      const refused = await outcome(late, {
        expectedSeq: 1,
        events: ['{"by":"late"}', '{"by":"late"}'],
        status: 'completed',
        writes: [{ table: 't', key: 'k', value: 'late' }],
      });
      expect(refused).toMatchObject({ code: 'stream_lost' });
      expect(await outcome(late, { expectedSeq: 2, events: ['{}'] })).toMatchObject({ code: 'stream_lost' });
      expect(await store.read('s')).toEqual(['{"by":"first"}', '{"by":"second"}']);
      expect(await store.tables.get('t', 'k')).toBeUndefined();
      expect(await store.info('s')).toMatchObject({ status: 'running', head: 2 });
    });

    test('a writer taken over before it wrote anything is refused, though the stream has not moved', async () => {
      const late = await dead.create('s', SESSION);
      await store.acquire('s');
      expect(await outcome(late, { expectedSeq: 0, events: ['{}'] })).toMatchObject({ code: 'stream_lost' });
      expect(await store.read('s')).toEqual([]);
    });

    test('a refused append fails alone: its neighbours in the same group go through', async () => {
      const [one, late, two] = await Promise.all(
        ['one', 'late', 'two'].map((name) => dead.create(name, SESSION)),
      );
      await store.acquire('late');
      const results = await Promise.all([
        outcome(one as StreamWriter, { expectedSeq: 0, events: ['{"n":1}'] }),
        outcome(late as StreamWriter, { expectedSeq: 0, events: ['{"n":2}'] }),
        outcome(two as StreamWriter, { expectedSeq: 0, events: ['{"n":3}'] }),
        outcome(late as StreamWriter, { expectedSeq: 1, events: ['{"n":4}'] }),
        outcome(one as StreamWriter, { expectedSeq: 1, events: ['{"n":5}'] }),
      ]);
      expect(results.map((error) => error?.code)).toEqual([
        undefined,
        'stream_lost',
        undefined,
        'stream_lost',
        undefined,
      ]);
      expect(await store.read('one')).toEqual(['{"n":1}', '{"n":5}']);
      expect(await store.read('late')).toEqual([]);
      expect(await store.read('two')).toEqual(['{"n":3}']);
    });

    test('an append without events sets the status and moves nothing', async () => {
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: ['{}'] });
      await append(writer, { expectedSeq: 1, events: [], status: 'waiting' });
      await append(writer, { expectedSeq: 1, events: ['{}'] });
      expect(await store.info('s')).toMatchObject({ head: 2, status: 'waiting' });
    });

    test('an event with a line break is refused, and the writer goes on', async () => {
      const writer = await store.create('s', SESSION);
      expect(await outcome(writer, { expectedSeq: 0, events: ['{}', '{\n}'] })).toMatchObject({
        code: 'event_malformed',
      });
      await append(writer, { expectedSeq: 0, events: ['{}'] });
      expect(await store.read('s')).toEqual(['{}']);
    });

    test('a caller that throws when told does not keep its neighbours from being told', async () => {
      const writer = await store.create('s', SESSION);
      const thrown: unknown[] = [];
      const listeners = process.listeners('uncaughtException');
      process.removeAllListeners('uncaughtException');
      process.once('uncaughtException', (error) => thrown.push(error));
      try {
        writer.append({ expectedSeq: 0, events: ['{}'] }, () => {
          throw new Error('of the caller');
        });
        await append(writer, { expectedSeq: 1, events: ['{}'] });
        await eventually(() => expect(thrown).toMatchObject([{ message: 'of the caller' }]));
      } finally {
        process.removeAllListeners('uncaughtException');
        for (const listener of listeners) process.on('uncaughtException', listener);
      }
    });
  });

  describe('reading', () => {
    test('any range is read, wherever appends began and ended', async () => {
      const writer = await store.create('s', SESSION);
      const all: string[] = [];
      for (let size = 1; size <= 20; size++) {
        const events = lines(size, all.length);
        await append(writer, { expectedSeq: all.length, events });
        all.push(...events);
      }
      for (const [from, limit] of [
        [1, 1],
        [1, 5],
        [2, 3],
        [3, 200],
        [100, 7],
        [210, 5],
        [211, 5],
        [500, 1],
        [0, 2],
        [4, 0],
      ] as const)
        expect(await store.read('s', { from, limit }), `${from}, ${limit}`).toEqual(
          all.slice(Math.max(1, from) - 1, Math.max(1, from) - 1 + limit),
        );
      expect(await store.read('s', { from: 150 })).toEqual(all.slice(149));
    });

    test('a range is read from the middle of a stream of hundreds of appends', async () => {
      const writer = await store.create('s', SESSION);
      const neighbour = await store.create('n', SESSION);
      const all = lines(400, 0);
      for (const [n, line] of all.entries()) {
        if (n % 8 === 7) await append(neighbour, { expectedSeq: (n - 7) / 8, events: ['{"n":"neighbour"}'] });
        // Every eighth waits for its commit, so that these are many rows and not one.
        const done = append(writer, { expectedSeq: n, events: [line] });
        if (n % 2 === 0) await done;
      }
      for (const from of [1, 2, 63, 64, 65, 127, 128, 129, 130, 256, 257, 399, 400])
        expect(await store.read('s', { from, limit: 70 }), `${from}`).toEqual(all.slice(from - 1, from + 69));
      expect(await store.read('s')).toEqual(all);
    });

    test('a log longer than one message is read whole', async () => {
      const writer = await store.create('s', SESSION);
      const long = `{"x":"${'x'.repeat(100_000)}"}`;
      for (let n = 0; n < 30; n++) await append(writer, { expectedSeq: n, events: [long] });
      expect(await store.read('s')).toEqual(Array.from({ length: 30 }, () => long));
    });

    test('an unknown stream has no info, and reading it is refused with stream_unknown', async () => {
      expect(await store.info('nobody')).toBeUndefined();
      await expect(store.read('nobody')).rejects.toMatchObject({ code: 'stream_unknown' });
    });

    test('a read that is asked for behind appends sees them', async () => {
      const writer = await store.create('s', SESSION);
      const done = append(writer, { expectedSeq: 0, events: ['{}'] });
      expect(await store.read('s')).toEqual(['{}']);
      await done;
    });
  });

  describe('snapshots', () => {
    test('snapshots come back oldest first, the newest few are kept', async () => {
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: lines(20, 0) });
      expect(await store.snapshots('s')).toEqual([]);
      for (let seq = 1; seq <= 20; seq++) writer.snapshot(seq, `state ${seq}`);
      const kept = await store.snapshots('s');
      expect(kept.at(-1)).toEqual({ seq: 20, body: 'state 20' });
      expect(kept.length).toBeGreaterThan(1);
      expect(kept.length).toBeLessThan(20);
      expect(kept).toEqual([...kept].sort((a, b) => a.seq - b.seq));
    });

    test('a snapshot is kept behind the append it stands for, and not by a writer that lost the stream', async () => {
      const late = await dead.create('s', SESSION);
      const done = append(late, { expectedSeq: 0, events: ['{}'] });
      late.snapshot(1, 'of the first');
      await done;
      expect(await dead.snapshots('s')).toEqual([{ seq: 1, body: 'of the first' }]);
      await store.acquire('s');
      late.snapshot(1, 'too late');
      expect(await dead.snapshots('s')).toEqual([{ seq: 1, body: 'of the first' }]);
    });

    test('a snapshot ahead of the log is not kept', async () => {
      const writer = await store.create('s', SESSION);
      writer.snapshot(5, 'of what is not there');
      expect(await store.snapshots('s')).toEqual([]);
    });
  });

  describe('ownership', () => {
    test('a stream that is there is not created again', async () => {
      await store.create('s', SESSION);
      await expect(store.create('s', SESSION)).rejects.toMatchObject({ code: 'stream_exists' });
    });

    test('an unknown stream is not acquired', async () => {
      await expect(store.acquire('s')).rejects.toMatchObject({ code: 'stream_unknown' });
    });

    test('a stream that is owned is refused with the pid of its owner', async () => {
      await store.create('s', SESSION);
      for (const one of [store, other])
        await expect(one.acquire('s')).rejects.toMatchObject({
          code: 'stream_owned',
          message: expect.stringContaining(`${home.pid}`),
        });
    });

    test('a released stream is acquired again, with a higher epoch, and the old writer is refused', async () => {
      const writer = await store.create('s', SESSION);
      const done = append(writer, { expectedSeq: 0, events: ['{"n":1}'] });
      await writer.release();
      await done;
      await writer.release();
      const again = await other.acquire('s');
      expect(again.head).toBe(1);
      expect(again.epoch).toBeGreaterThan(writer.epoch);
      await append(again, { expectedSeq: 1, events: ['{"n":2}'] });
      expect(await outcome(writer, { expectedSeq: 1, events: ['{}'] })).toMatchObject({
        code: 'stream_lost',
      });
      expect(await store.read('s')).toEqual(['{"n":1}', '{"n":2}']);
    });

    test('a stream that went to another and came back goes on from what the other wrote', async () => {
      const first = await dead.create('s', SESSION);
      await append(first, { expectedSeq: 0, events: ['{"by":"first"}'] });
      const second = await store.acquire('s');
      await append(second, { expectedSeq: 1, events: ['{"by":"second"}'] });
      await append(second, { expectedSeq: 2, events: ['{"by":"second again"}'] });
      await second.release();
      const third = await dead.acquire('s');
      await append(third, { expectedSeq: 3, events: ['{"by":"third"}'] });
      expect(await store.read('s')).toEqual([
        '{"by":"first"}',
        '{"by":"second"}',
        '{"by":"second again"}',
        '{"by":"third"}',
      ]);
    });

    test('closing a store gives up its streams', () =>
      alone(async (open) => {
        const [store, other] = [await open(), await open()];
        await other.create('s', SESSION);
        await other.close();
        expect(await store.info('s')).not.toHaveProperty('owner');
        await store.acquire('s');
      }));

    test('names that no home could keep are refused', async () => {
      for (const name of ['', 'x'.repeat(1025), '\ud800', 'a\0b'])
        await expect(shared.store.create(name, SESSION)).rejects.toMatchObject({ code: 'name_malformed' });
    });
  });

  describe('the inbox', () => {
    const message = (body: Json) => ({ kind: 'steer', from: 'tester', body });

    test('messages come in order, with when they were sent, and stay until they are consumed', async () => {
      const writer = await store.create('s', SESSION);
      const start = clock.now();
      const first = await store.send('s', message('one'));
      await clock.advance(1000);
      const second = await store.send('s', message({ two: [2] }));
      const expected = [
        { id: first, at: start, ...message('one') },
        { id: second, at: start + 1000, ...message({ two: [2] }) },
      ];
      expect(await writer.inbox()).toEqual(expected);
      await append(writer, { expectedSeq: 0, events: ['{}'], consumed: [first] });
      expect(await writer.inbox()).toEqual(expected.slice(1));
    });

    test('a message consumed by an append that is queued is not shown again', async () => {
      const writer = await store.create('s', SESSION);
      const id = await store.send('s', message(1));
      const done = append(writer, { expectedSeq: 0, events: ['{}'], consumed: [id] });
      expect(await writer.inbox()).toEqual([]);
      await done;
    });

    test('a refused append consumes nothing', async () => {
      const late = await dead.create('s', SESSION);
      const id = await store.send('s', message(1));
      const writer = await store.acquire('s');
      await outcome(late, { expectedSeq: 0, events: ['{}'], consumed: [id] });
      expect(await writer.inbox()).toMatchObject([{ id }]);
    });

    test('a message to a stream without an owner waits for the next one', async () => {
      const writer = await store.create('s', SESSION);
      await writer.release();
      await store.send('s', message('waits'));
      const again = await store.acquire('s');
      expect(await again.inbox()).toMatchObject([{ body: 'waits' }]);
    });

    test('the owner is woken by a message, whoever sends it, until he no longer listens', async () => {
      const writer = await store.create('s', SESSION);
      const neighbour = await store.create('n', SESSION);
      let [woken, neighbours] = [0, 0];
      const end = writer.onWake(() => woken++);
      neighbour.onWake(() => neighbours++);
      await store.send('s', message(1));
      await eventually(() => expect(woken).toBe(1));
      await other.send('s', message(2));
      await eventually(() => expect(woken).toBe(2));
      end();
      await store.send('s', message(3));
      expect(await writer.inbox()).toHaveLength(3);
      expect([woken, neighbours]).toEqual([2, 0]);
    });

    test('a message to an unknown stream is refused', async () => {
      await expect(store.send('nobody', message(1))).rejects.toMatchObject({ code: 'stream_unknown' });
    });

    test('a message of many megabytes is refused', async () => {
      await store.create('s', SESSION);
      await expect(store.send('s', message('x'.repeat(5_000_000)))).rejects.toMatchObject({
        code: 'message_too_large',
      });
    });
  });

  describe('watching', () => {
    test('a watcher hears of commits, of this store and of others, until he no longer listens', async () => {
      const writer = await store.create('s', SESSION);
      const heads: number[] = [];
      const note = async (from: Store) => heads.push((await from.info('s'))?.head ?? -1);
      const ends = [store, other].map((one) => one.watch('s', () => void note(one)));
      await append(writer, { expectedSeq: 0, events: ['{}'] });
      await eventually(() => expect(heads).toEqual([1, 1]));
      for (const end of ends) end();
      await append(writer, { expectedSeq: 1, events: ['{}'] });
      const seen = new Promise<void>((resolve) => other.watch('s', resolve));
      await append(writer, { expectedSeq: 2, events: ['{}'] });
      await seen;
      expect(heads).toEqual([1, 1]);
    });

    test('a stream may be watched before it is there', async () => {
      const seen = new Promise<void>((resolve) => other.watch('s', resolve));
      await append(await store.create('s', SESSION), { expectedSeq: 0, events: ['{}'] });
      await seen;
    });
  });

  describe('the list of streams', () => {
    test('streams are listed newest first, with all that is known of them', () =>
      alone(async (open) => {
        const store = await open();
        const start = clock.now();
        const parent = await store.create('parent', SESSION);
        await clock.advance(5);
        await store.create('child', { ...SESSION, kind: 'run', parent: 'parent', title: 'Child' });
        await clock.advance(5);
        await append(parent, { expectedSeq: 0, events: ['{}'], status: 'waiting' });
        const owner = { pid: home.pid, startedAt: expect.any(Number), epoch: 1 };
        expect(await store.list()).toEqual([
          {
            stream: 'child',
            kind: 'run',
            name: 'writer',
            status: 'running',
            title: 'Child',
            parent: 'parent',
            createdAt: start + 5,
            updatedAt: start + 5,
            head: 0,
            owner,
          },
          {
            stream: 'parent',
            kind: 'session',
            name: 'writer',
            status: 'waiting',
            title: 'A title',
            createdAt: start,
            updatedAt: start + 10,
            head: 1,
            owner,
          },
        ]);
        await parent.release();
        expect(await store.info('parent')).not.toHaveProperty('owner');
      }));

    test('an owner that is dead is not shown', async () => {
      await dead.create('s', SESSION);
      expect(await store.info('s')).not.toHaveProperty('owner');
    });

    test('the list is narrowed by kind, by status and to a number', () =>
      alone(async (open) => {
        const store = await open();
        for (const [name, kind, status] of [
          ['a', 'session', 'running'],
          ['b', 'run', 'running'],
          ['c', 'session', 'completed'],
          ['d', 'session', 'waiting'],
        ] as const)
          await store.create(name, { ...SESSION, kind, status });
        const names = async (filter: Parameters<Store['list']>[0]) =>
          (await store.list(filter)).map(({ stream }) => stream);
        expect(await names({ kind: 'session' })).toEqual(['d', 'c', 'a']);
        expect(await names({ status: ['running', 'waiting'] })).toEqual(['d', 'b', 'a']);
        expect(await names({ kind: 'session', status: ['running'] })).toEqual(['a']);
        expect(await names({ limit: 2 })).toEqual(['d', 'c']);
        expect(await names({ status: [] })).toEqual([]);
        expect(await names({ limit: 0 })).toEqual([]);
      }));
  });

  describe('tables', () => {
    test('a value is kept, replaced and deleted; each table has its own keys', async () => {
      const { tables } = store;
      expect(await tables.get('t', 'k')).toBeUndefined();
      await tables.set('t', 'k', { deep: [1, null, 'ü'] });
      await tables.set('u', 'k', 'other');
      expect(await tables.get('t', 'k')).toEqual({ deep: [1, null, 'ü'] });
      await tables.set('t', 'k', null);
      expect(await tables.get('t', 'k')).toBeNull();
      expect(await tables.delete('t', 'k')).toBe(true);
      expect(await tables.delete('t', 'k')).toBe(false);
      expect(await tables.get('t', 'k')).toBeUndefined();
      expect(await tables.get('u', 'k')).toBe('other');
    });

    test('a value with a time to live is gone after it, a new value without one stays', async () => {
      const { tables } = store;
      await tables.set('t', 'short', 1, { ttlMs: 1000 });
      await tables.set('t', 'kept', 1, { ttlMs: 1000 });
      await tables.set('t', 'kept', 2);
      await clock.advance(999);
      expect(await tables.keys('t')).toEqual(['kept', 'short']);
      await clock.advance(1);
      expect(await tables.get('t', 'short')).toBeUndefined();
      expect(await tables.keys('t')).toEqual(['kept']);
      expect(await tables.delete('t', 'short')).toBe(false);
      expect(await tables.increment('t', 'short', 5)).toBe(5);
      expect(await tables.get('t', 'kept')).toBe(2);
    });

    test('a counter keeps its time to live when it is counted up', async () => {
      await store.tables.set('t', 'n', 1, { ttlMs: 1000 });
      expect(await store.tables.increment('t', 'n', 1)).toBe(2);
      await clock.advance(1000);
      expect(await store.tables.increment('t', 'n', 1)).toBe(1);
    });

    test('keys come in the order of their bytes, by prefix, from a key on, to a number', async () => {
      const { tables } = store;
      for (const key of ['b:2', 'a:1', 'b:1', 'b:10', 'c', '𝄞', '\uffee', 'B:1'])
        await tables.set('t', key, 1);
      expect(await tables.keys('t')).toEqual(['B:1', 'a:1', 'b:1', 'b:10', 'b:2', 'c', '\uffee', '𝄞']);
      expect(await tables.keys('t', { prefix: 'b:' })).toEqual(['b:1', 'b:10', 'b:2']);
      expect(await tables.keys('t', { prefix: 'b:', after: 'b:1' })).toEqual(['b:10', 'b:2']);
      expect(await tables.keys('t', { prefix: 'b:', after: 'b:1', limit: 1 })).toEqual(['b:10']);
      expect(await tables.keys('t', { after: 'c', limit: 5 })).toEqual(['\uffee', '𝄞']);
      expect(await tables.keys('t', { prefix: '%' })).toEqual([]);
      expect(await tables.keys('nothing')).toEqual([]);
    });

    test('a counter counted by two stores at once loses nothing', async () => {
      const seen = await Promise.all(
        Array.from({ length: 50 }, (_, n) => (n % 2 ? store : other).tables.increment('t', 'n', 1)),
      );
      expect(new Set(seen).size).toBe(50);
      expect(await store.tables.get('t', 'n')).toBe(50);
      expect(await other.tables.increment('t', 'n', -0.5)).toBe(49.5);
    });

    test('what is no number is not counted up, and stays', async () => {
      await store.tables.set('t', 'k', 'text');
      await expect(store.tables.increment('t', 'k', 1)).rejects.toMatchObject({ code: 'not_a_number' });
      await expect(store.tables.increment('t', 'n', Number.NaN)).rejects.toMatchObject({
        code: 'not_a_number',
      });
      expect(await store.tables.get('t', 'k')).toBe('text');
    });

    test('a list keeps its entries in order, and gives them from a number on or the newest', async () => {
      const { tables } = store;
      const start = clock.now();
      for (let n = 1; n <= 5; n++) expect(await tables.push('l', { n })).toBe(n);
      expect(await tables.push('m', 'other')).toBe(1);
      const values = async (options?: Parameters<typeof tables.entries>[1]) =>
        (await tables.entries('l', options)).map(({ n }) => n);
      expect(await tables.entries('l', { limit: 1 })).toEqual([{ n: 1, at: start, value: { n: 1 } }]);
      expect(await values()).toEqual([1, 2, 3, 4, 5]);
      expect(await values({ after: 3 })).toEqual([4, 5]);
      expect(await values({ after: 1, limit: 2 })).toEqual([2, 3]);
      expect(await values({ last: 2 })).toEqual([4, 5]);
      expect(await values({ last: 9 })).toEqual([1, 2, 3, 4, 5]);
      expect(await values({ last: 0 })).toEqual([]);
      expect(await values({ after: 5 })).toEqual([]);
      expect(await tables.entries('nothing')).toEqual([]);
    });

    test('writes beside events are made with them, in the order of the calls', async () => {
      const [a, b] = await Promise.all(['a', 'b'].map((name) => store.create(name, SESSION)));
      await store.tables.set('t', 'gone', 1);
      const set = (value: Json, expectedSeq: number): Append => ({
        expectedSeq,
        events: ['{}'],
        writes: [
          { table: 't', key: 'k', value },
          { table: 't', key: 'gone', value: undefined },
        ],
      });
      await Promise.all([
        append(a as StreamWriter, set('first', 0)),
        append(b as StreamWriter, set('second', 0)),
        append(a as StreamWriter, set('third', 1)),
      ]);
      expect(await store.tables.get('t', 'k')).toBe('third');
      expect(await store.tables.get('t', 'gone')).toBeUndefined();
    });
  });

  describe('closing', () => {
    test('what is queued is written before the store is closed', () =>
      alone(async (open) => {
        const [store, other] = [await open(), await open()];
        const writer = await other.create('s', SESSION);
        const done = Array.from({ length: 50 }, (_, n) =>
          outcome(writer, { expectedSeq: n, events: [`{"n":${n}}`] }),
        );
        await other.close();
        expect(await Promise.all(done)).toEqual(Array.from({ length: 50 }, () => undefined));
        expect(await store.read('s')).toHaveLength(50);
      }));

    test('a closed store refuses everything with store_closed, and may be closed again', () =>
      alone(async (open) => {
        const store = await open();
        const writer = await store.create('s', SESSION);
        await store.close();
        await store.close();
        expect(await outcome(writer, { expectedSeq: 0, events: ['{}'] })).toMatchObject({
          code: 'store_closed',
        });
        const closed = { code: 'store_closed' };
        await expect(store.read('s')).rejects.toMatchObject(closed);
        await expect(store.list()).rejects.toMatchObject(closed);
        await expect(store.create('t', SESSION)).rejects.toMatchObject(closed);
        await expect(store.send('s', { kind: 'k', from: 'f', body: 1 })).rejects.toMatchObject(closed);
        await expect(store.tables.get('t', 'k')).rejects.toMatchObject(closed);
        await expect(store.tables.push('l', 1)).rejects.toMatchObject(closed);
      }));

    test('a store opened again has everything', () =>
      alone(async (open) => {
        const store = await open();
        const writer = await store.create('s', SESSION);
        await append(writer, { expectedSeq: 0, events: ['{"n":1}'], status: 'waiting' });
        await store.tables.set('t', 'k', 1);
        await store.close();
        const again = await open();
        expect(await again.read('s')).toEqual(['{"n":1}']);
        expect(await again.info('s')).toMatchObject({ status: 'waiting', head: 1 });
        expect(await again.tables.get('t', 'k')).toBe(1);
      }));
  });
}
