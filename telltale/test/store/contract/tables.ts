import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/lib/json.ts';
import type { Append, StreamWriter } from '../../../src/store/store.ts';
import { append, outcome } from '../appending.ts';
import { type Contract, SESSION } from './contract.ts';

export function tablesContract(contract: Contract): void {
  describe('tables', () => {
    test('a value is kept, replaced and deleted; each table has its own keys', async () => {
      const { store } = contract;
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
      const { store, clock } = contract;
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
      const { store, clock } = contract;
      await store.tables.set('t', 'n', 1, { ttlMs: 1000 });
      expect(await store.tables.increment('t', 'n', 1)).toBe(2);
      await clock.advance(1000);
      expect(await store.tables.increment('t', 'n', 1)).toBe(1);
    });

    test('keys come in the order of their bytes, by prefix, from a key on, to a number', async () => {
      const { store } = contract;
      const { tables } = store;
      for (const key of ['b:2', 'a:1', 'b:1', 'b:10', 'c', '𝄞', '\uffee', 'B:1'])
        await tables.set('t', key, 1);
      expect(await tables.keys('t')).toEqual(['B:1', 'a:1', 'b:1', 'b:10', 'b:2', 'c', '\uffee', '𝄞']);
      expect(await tables.keys('t', { prefix: 'b:' })).toEqual(['b:1', 'b:10', 'b:2']);
      expect(await tables.keys('t', { prefix: 'b:', after: 'b:1' })).toEqual(['b:10', 'b:2']);
      expect(await tables.keys('t', { prefix: 'b:', after: 'b:1', limit: 1 })).toEqual(['b:10']);
      expect(await tables.keys('t', { after: 'c', limit: 5 })).toEqual(['\uffee', '𝄞']);
      expect(await tables.keys('t', { prefix: '%' })).toEqual([]);
      expect(await tables.keys('t', { limit: 0 })).toEqual([]);
      expect(await tables.keys('t', { limit: -1 })).toEqual([]);
      expect(await tables.keys('nothing')).toEqual([]);
    });

    test('a counter counted by two stores at once loses nothing', async () => {
      const { store, other } = contract;
      const seen = await Promise.all(
        Array.from({ length: 50 }, (_, n) => (n % 2 ? store : other).tables.increment('t', 'n', 1)),
      );
      expect(new Set(seen).size).toBe(50);
      expect(await store.tables.get('t', 'n')).toBe(50);
      expect(await other.tables.increment('t', 'n', -0.5)).toBe(49.5);
    });

    test('a counter counted by two stores at once passes no number that is not exact', async () => {
      const { store, other } = contract;
      await store.tables.set('t', 'n', 2 ** 53 - 3);
      const counted = await Promise.allSettled(
        Array.from({ length: 10 }, (_, n) => (n % 2 ? store : other).tables.increment('t', 'n', 1)),
      );
      const given = counted.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      expect(given.sort((a, b) => a - b)).toEqual([2 ** 53 - 2, 2 ** 53 - 1, 2 ** 53]);
      for (const each of counted)
        if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'not_exact' });
      expect(await other.tables.get('t', 'n')).toBe(2 ** 53);
      for (const [from, by, code] of [
        [2 ** 53, 3, 'not_exact'],
        [-(2 ** 53), -1, 'not_exact'],
        [1e300, 0.5, 'not_exact'],
        [0.5, 1e300, 'not_exact'],
        [1, 2 ** 54, 'not_exact'],
        [10, -1e17, 'not_exact'],
        [1, Number.MAX_VALUE, 'not_exact'],
        [-3 * 2 ** 970, Number.MAX_VALUE, 'not_exact'],
        [2 ** 970, Number.MAX_VALUE, 'not_a_number'],
        [Number.MAX_VALUE, Number.MAX_VALUE, 'not_a_number'],
      ] as const) {
        await store.tables.set('t', 'n', from);
        await expect(store.tables.increment('t', 'n', by)).rejects.toMatchObject({ code });
        expect(await store.tables.get('t', 'n')).toBe(from);
      }
      for (const [from, by] of [
        [2 ** 53, 2],
        [-(2 ** 53), 1],
        [0.1, 0.2],
        [1e20, 1e20],
        [1e300, 0],
        [0, Number.MAX_VALUE],
        [-Number.MAX_VALUE, Number.MAX_VALUE],
        [5e-324, 5e-324],
        [2 ** 60, 2 ** 54],
      ] as const) {
        await store.tables.set('t', 'n', from);
        expect(await store.tables.increment('t', 'n', by)).toBe(from + by);
      }
    });

    test('an exchange writes all or nothing, by what it expects to find', async () => {
      const { store, clock } = contract;
      const { tables } = store;
      const at = (key: string, value: Json | undefined) => ({ table: 't', key, value });
      expect(await tables.exchange([at('a', undefined)], [at('a', { n: 1 }), at('b', 1)])).toBe(true);
      expect(await tables.exchange([at('a', undefined)], [at('b', 2)])).toBe(false);
      expect(await tables.exchange([at('a', { n: 1 }), at('b', 9)], [at('b', 2)])).toBe(false);
      expect(await tables.get('t', 'b')).toBe(1);
      const timed = { ...at('c', 'x'), ttlMs: 1000 };
      expect(await tables.exchange([at('a', { n: 1 }), at('b', 1)], [at('a', undefined), timed])).toBe(true);
      expect(await tables.keys('t')).toEqual(['b', 'c']);
      await clock.advance(1000);
      expect(await tables.exchange([at('c', 'x')], [at('b', 3)])).toBe(false);
      expect(await tables.exchange([at('c', undefined)], [at('b', 3)])).toBe(true);
      expect(await tables.exchange([], [at('d', null)])).toBe(true);
      expect(await tables.get('t', 'd')).toBeNull();
      await expect(tables.exchange([], [at('e', 1), at('\ud800', 1)])).rejects.toMatchObject({
        code: 'name_malformed',
      });
      expect(await tables.keys('t')).toEqual(['b', 'd']);
    });

    test('of two stores that exchange the same value at once one wins', async () => {
      const { store, other } = contract;
      const won = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (n % 2 ? store : other).tables.exchange(
            [{ table: 't', key: 'k', value: undefined }],
            [{ table: 't', key: 'k', value: n }],
          ),
        ),
      );
      expect(won.filter((each) => each)).toHaveLength(1);
      expect(await other.tables.get('t', 'k')).toBe(won.indexOf(true));
    });

    test('what is no number is not counted up, and stays', async () => {
      const { store } = contract;
      await store.tables.set('t', 'k', 'text');
      await expect(store.tables.increment('t', 'k', 1)).rejects.toMatchObject({ code: 'not_a_number' });
      await expect(store.tables.increment('t', 'n', Number.NaN)).rejects.toMatchObject({
        code: 'not_a_number',
      });
      expect(await store.tables.get('t', 'k')).toBe('text');
    });

    test('a list keeps its entries in order, and gives them from a number on or the newest', async () => {
      const { store, clock } = contract;
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
      expect(await values({ last: 4, limit: 2 })).toEqual([4, 5]);
      expect(await values({ after: 3, last: 4 })).toEqual([4, 5]);
      expect(await values({ last: 0 })).toEqual([]);
      expect(await values({ last: -1 })).toEqual([]);
      expect(await values({ limit: -1 })).toEqual([]);
      expect(await values({ after: 5 })).toEqual([]);
      expect(await tables.entries('nothing')).toEqual([]);
    });

    test.each(['\ud800', 'a\0b', 'x'.repeat(1_025)])(
      'a name that no home could keep is refused wherever it stands: %j',
      async (bad) => {
        const { tables } = contract.store;
        const at = (table: string, key: string) => [{ table, key, value: 1 }];
        for (const refused of [
          () => tables.get(bad, 'k'),
          () => tables.get('t', bad),
          () => tables.set(bad, 'k', 1),
          () => tables.set('t', bad, 1),
          () => tables.delete(bad, 'k'),
          () => tables.delete('t', bad),
          () => tables.keys(bad),
          () => tables.increment(bad, 'k', 1),
          () => tables.increment('t', bad, 1),
          () => tables.exchange(at(bad, 'k'), []),
          () => tables.exchange(at('t', bad), at('t', 'k')),
          () => tables.exchange([], at(bad, 'k')),
          () => tables.push(bad, 1),
          () => tables.entries(bad),
        ])
          await expect(refused()).rejects.toMatchObject({ code: 'name_malformed' });
      },
    );

    test('an append with a write that no home could keep is refused, and nothing of it is there', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      const writes = [{ table: 't', key: '\ud800', value: 1 }];
      expect(await outcome(writer, { expectedSeq: 0, events: ['{}'], writes })).toMatchObject({
        code: 'name_malformed',
      });
      expect(await store.read('s')).toEqual([]);
    });

    test('writes beside events are made with them, in the order of the calls', async () => {
      const { store } = contract;
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
}
