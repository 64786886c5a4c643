import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { append } from '../appending.ts';
import { eventually } from '../eventually.ts';
import { type Contract, SESSION } from './contract.ts';

export function watchingContract(contract: Contract): void {
  describe('watching', () => {
    test('a watcher hears of commits, of this store and of others, until he no longer listens', async () => {
      const { store, other } = contract;
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

    test('a watcher hears of messages that nobody is there to read', async () => {
      const { store, other } = contract;
      const writer = await store.create('s', SESSION);
      await writer.release();
      const heard: string[] = [];
      store.watch('s', () => void heard.push('store'));
      other.watch('s', () => void heard.push('other'));
      expect(await other.info('s')).not.toHaveProperty('messages');
      await store.send('s', { kind: 'steer', from: 'user', body: 'hi' });
      await eventually(() => expect(new Set(heard)).toEqual(new Set(['store', 'other'])));
      expect(await other.info('s')).toMatchObject({ messages: 1 });
    });

    test('a stream may be watched before it is there', async () => {
      const { store, other } = contract;
      const seen = new Promise<void>((resolve) => other.watch('s', resolve));
      await append(await store.create('s', SESSION), { expectedSeq: 0, events: ['{}'] });
      await seen;
    });
  });
}
