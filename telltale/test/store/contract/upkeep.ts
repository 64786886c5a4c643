import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { RESTORING, type SettledStream } from '../../../src/store/upkeep/upkeep.ts';
import { append, lines, outcome } from '../appending.ts';
import { type Contract, SESSION } from './contract.ts';

const AS: SettledStream = { status: 'completed', createdAt: 1_000, updatedAt: 2_000, messages: [] };

export function upkeepContract(contract: Contract): void {
  describe('a stream that is put in from elsewhere', () => {
    test('has the status, times and messages that it had there, and nobody owns it', async () => {
      const { store, other } = contract;
      const writer = await store.create('s', { ...SESSION, status: RESTORING });
      await append(writer, { expectedSeq: 0, events: lines(3, 0) });
      writer.snapshot(2, 'two');
      await store.send('s', { kind: 'steer', from: 'user', body: 'of a first try' });
      const messages = [
        { at: 5, kind: 'steer', from: 'user', body: 'ü\n𝄞' },
        { at: 5, kind: 'signal', from: 'hook', body: { deep: [1, null] } },
      ];
      await store.upkeep.settle('s', writer.epoch, { ...AS, status: 'waiting', due: 77, messages });
      expect(await other.info('s')).toMatchObject({
        status: 'waiting',
        due: 77,
        createdAt: 1_000,
        updatedAt: 2_000,
        head: 3,
        messages: 2,
      });
      expect(await other.info('s')).not.toHaveProperty('owner');
      expect(await other.upkeep.inbox('s')).toMatchObject(messages);
      expect(await other.snapshots('s')).toEqual([{ seq: 2, body: 'two' }]);
      await writer.release();
      const next = await other.acquire('s');
      const [first] = await next.inbox();
      await append(next, { expectedSeq: 3, events: ['{}'], consumed: [first?.id ?? 0] });
      expect(await other.upkeep.inbox('s')).toMatchObject(messages.slice(1));
      await next.release();
    });

    test('is nobody’s to work on until it is settled, and who restores it can go on after a crash', async () => {
      const { store, dead } = contract;
      const first = await dead.create('s', { ...SESSION, status: RESTORING });
      await append(first, { expectedSeq: 0, events: lines(2, 0) });
      await expect(store.acquire('s')).rejects.toMatchObject({ code: 'stream_restoring' });
      const second = await store.upkeep.acquire('s');
      expect(second.head).toBe(2);
      await append(second, { expectedSeq: 2, events: lines(1, 2) });
      await expect(dead.upkeep.settle('s', first.epoch, AS)).rejects.toMatchObject({ code: 'stream_lost' });
      await store.upkeep.settle('s', second.epoch, AS);
      expect(await store.read('s')).toEqual(lines(3, 0));
      await (await store.acquire('s')).release();
    });

    test('that is not there cannot be settled, weighed or paged', async () => {
      const { upkeep } = contract.store;
      const unknown = { code: 'stream_unknown' };
      await expect(upkeep.settle('nobody', 1, AS)).rejects.toMatchObject(unknown);
      await expect(upkeep.remove('nobody', 1)).rejects.toMatchObject(unknown);
      await expect(upkeep.weigh('nobody')).rejects.toMatchObject(unknown);
      await expect(upkeep.page('nobody', 1)).rejects.toMatchObject(unknown);
    });
  });

  describe('taking a stream out', () => {
    test('takes all of it, leaves its neighbors as they were, and its name is free again', async () => {
      const { store, other } = contract;
      const [gone, stays] = [await store.create('gone', SESSION), await store.create('stays', SESSION)];
      for (let n = 0; n < 150; n++) {
        await append(gone, { expectedSeq: n, events: [`{"gone":${n}}`] });
        await append(stays, { expectedSeq: n, events: [`{"stays":${n}}`] });
      }
      gone.snapshot(100, 'x');
      await store.send('gone', { kind: 'steer', from: 'user', body: 1 });
      await store.upkeep.remove('gone', gone.epoch);
      expect(await other.info('gone')).toBeUndefined();
      for (const read of [() => other.read('gone'), () => other.snapshots('gone')])
        await expect(read()).rejects.toMatchObject({ code: 'stream_unknown' });
      expect(await outcome(gone, { expectedSeq: 150, events: ['{}'] })).toMatchObject({
        code: 'stream_lost',
      });
      await gone.release();
      await append(stays, { expectedSeq: 150, events: ['{"stays":150}'] });
      const expected = Array.from({ length: 151 }, (_, n) => `{"stays":${n}}`);
      expect(await other.read('stays')).toEqual(expected);
      expect(await other.read('stays', { from: 60, limit: 30 })).toEqual(expected.slice(59, 89));
      const again = await store.create('gone', SESSION);
      await append(again, { expectedSeq: 0, events: ['{"again":1}'] });
      expect(await other.read('gone')).toEqual(['{"again":1}']);
      expect(await other.upkeep.inbox('gone')).toEqual([]);
      expect(await other.snapshots('gone')).toEqual([]);
    });

    test('is refused to a writer that lost it', async () => {
      const { store, dead } = contract;
      const late = await dead.create('s', SESSION);
      await store.acquire('s');
      await expect(dead.upkeep.remove('s', late.epoch)).rejects.toMatchObject({ code: 'stream_lost' });
      expect(await store.info('s')).toBeDefined();
    });

    test('leaves the list of the others in order', () =>
      contract.alone(async (open) => {
        const store = await open();
        // In one moment, so that it is not the time that tells them apart.
        for (const name of ['a', 'b', 'c', 'd']) await store.create(name, SESSION);
        const [c] = (await store.list()).filter(({ stream }) => stream === 'c');
        for (const name of ['b', 'c']) await store.upkeep.remove(name, 1);
        expect((await store.list()).map(({ stream }) => stream)).toEqual(['d', 'a']);
        expect((await store.list({ before: c! })).map(({ stream }) => stream)).toEqual(['a']);
        await store.create('e', SESSION);
        expect((await store.list()).map(({ stream }) => stream)).toEqual(['e', 'd', 'a']);
      }));
  });

  describe('all there is', () => {
    const pages = async <T>(read: (after: T | undefined) => Promise<readonly T[]>): Promise<readonly T[]> => {
      const found: T[] = [];
      for (let page = await read(undefined); page.length > 0; page = await read(found.at(-1)))
        found.push(...page);
      return found;
    };
    const fill = async (store: Store) => {
      await store.tables.set('b', 'k2', { n: 1 });
      await store.tables.set('b', 'k1', null);
      await store.tables.set('a', '𝄞', [1]);
      await store.tables.set('a', '\uffff', 'x', { ttlMs: 50 });
      await store.tables.set('a', 'over', 'x', { ttlMs: 5 });
      await store.tables.push('second', 'one');
      await store.tables.push('first', 'one');
      await store.tables.push('first', 'two');
    };

    test('rows and lists come in the order of their names, page by page', () =>
      contract.alone(async (open) => {
        const store = await open();
        const start = contract.clock.now();
        await fill(store);
        await contract.clock.advance(10);
        const rows = await pages<{ table: string; key: string }>((after) =>
          store.upkeep.rows({ limit: 1, ...(after === undefined ? {} : { after }) }),
        );
        expect(rows).toEqual([
          { table: 'a', key: '\uffff', value: 'x', expiresAt: start + 50 },
          { table: 'a', key: '𝄞', value: [1] },
          { table: 'b', key: 'k1', value: null },
          { table: 'b', key: 'k2', value: { n: 1 } },
        ]);
        const lists = await pages<string>((after) =>
          store.upkeep.lists({ limit: 1, ...(after === undefined ? {} : { after }) }),
        );
        expect(lists).toEqual(['first', 'second']);
      }));

    test('a description counts, and says who owns streams', () =>
      contract.alone(async (open) => {
        const store = await open();
        await fill(store);
        const writer = await store.create('s', SESSION);
        await store.create('r', { ...SESSION, kind: 'run' });
        await append(writer, { expectedSeq: 0, events: lines(3, 0) });
        await store.send('s', { kind: 'steer', from: 'user', body: 1 });
        expect(await (await open()).upkeep.describe()).toMatchObject({
          sessions: 1,
          runs: 1,
          events: 3,
          messages: 1,
          tables: 2,
          lists: 2,
          entries: 3,
          owners: [{ pid: contract.home.pid, alive: true, streams: 2 }],
        });
      }));

    test('entries are put into a list with their times, behind the last and nowhere else', async () => {
      const { store, other } = contract;
      await store.upkeep.enter('l', 1, [
        { at: 3, value: 'a' },
        { at: 9, value: { b: 1 } },
      ]);
      await expect(store.upkeep.enter('l', 2, [{ at: 4, value: 'x' }])).rejects.toMatchObject({
        code: 'list_moved',
      });
      await store.upkeep.enter('l', 3, [{ at: 5, value: 'c' }]);
      expect(await other.tables.entries('l')).toEqual([
        { n: 1, at: 3, value: 'a' },
        { n: 2, at: 9, value: { b: 1 } },
        { n: 3, at: 5, value: 'c' },
      ]);
      expect(await other.tables.push('l', 'd')).toBe(4);
    });

    test('pages of events end at the end, wherever they begin', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      const all = Array.from({ length: 3_000 }, (_, n) => `{"seq":${n + 1},"x":"${'x'.repeat(900)}"}`);
      for (let n = 0; n < all.length; n += 500)
        await append(writer, { expectedSeq: n, events: all.slice(n, n + 500) });
      const found: string[] = [];
      for (let from: number | undefined = 1; from !== undefined; ) {
        const page: Awaited<ReturnType<Store['upkeep']['page']>> = await store.upkeep.page('s', from);
        expect(page.events.length).toBeLessThan(all.length);
        found.push(...page.events);
        from = page.next;
      }
      expect(found).toEqual(all);
      expect((await store.upkeep.page('s', 2_990)).events).toEqual(all.slice(2_989));
      expect(await store.upkeep.page('s', 3_001)).toEqual({ events: [] });
      expect(await store.upkeep.weigh('s')).toBeGreaterThanOrEqual(all.join('').length);
    });

    test('a store that is as it has to be has no faults, and gives its free space back', () =>
      contract.alone(async (open) => {
        const store = await open();
        await fill(store);
        const [gone, stays] = [await store.create('gone', SESSION), await store.create('stays', SESSION)];
        for (let n = 0; n < 80; n++) {
          await append(gone, { expectedSeq: n, events: [`{"x":"${'x'.repeat(9_000)}"}`] });
          await append(stays, { expectedSeq: n, events: [`{"n":${n}}`] });
        }
        expect(await store.upkeep.examine()).toEqual([]);
        await store.upkeep.remove('gone', gone.epoch);
        const { beforeBytes, afterBytes, left } = await store.upkeep.compact();
        if (left === undefined) expect(afterBytes).toBeLessThan(beforeBytes / 2);
        expect(await store.upkeep.examine()).toEqual([]);
        expect(await store.read('stays')).toHaveLength(80);
        await append(stays, { expectedSeq: 80, events: ['{}'] });
      }));
  });
}
