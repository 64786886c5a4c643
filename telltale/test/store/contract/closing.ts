import { describe, expect, test } from 'vitest';
import { append, outcome } from '../appending.ts';
import { type Contract, SESSION } from './contract.ts';

export function closingContract(contract: Contract): void {
  describe('closing', () => {
    test('what is queued is written before the store is closed', () =>
      contract.alone(async (open) => {
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
      contract.alone(async (open) => {
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
      contract.alone(async (open) => {
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
