import { describe, expect, test } from 'vitest';
import { append, lines, outcome } from '../appending.ts';
import { type Contract, SESSION } from './contract.ts';

export function ownershipContract(contract: Contract): void {
  describe('ownership', () => {
    test('a stream that is there is not created again', async () => {
      const { store } = contract;
      await store.create('s', SESSION);
      await expect(store.create('s', SESSION)).rejects.toMatchObject({ code: 'stream_exists' });
    });

    test('an unknown stream is not acquired', async () => {
      const { store } = contract;
      await expect(store.acquire('s')).rejects.toMatchObject({ code: 'stream_unknown' });
    });

    test('a stream that is owned is refused with the pid of its owner', async () => {
      const { store, other, home } = contract;
      await store.create('s', SESSION);
      for (const one of [store, other])
        await expect(one.acquire('s')).rejects.toMatchObject({
          code: 'stream_owned',
          message: expect.stringContaining(`${home.pid}`),
        });
    });

    test('a released stream is acquired again, with a higher epoch, and the old writer is refused', async () => {
      const { store, other } = contract;
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

    test('a writer that gave its stream up writes no more, though nobody else has it', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: lines(1, 0) });
      await writer.release();
      await expect(append(writer, { expectedSeq: 1, events: lines(1, 1) })).rejects.toMatchObject({
        code: 'stream_lost',
      });
      expect(await store.read('s')).toHaveLength(1);
    });

    test('a stream that went to another and came back goes on from what the other wrote', async () => {
      const { store, dead } = contract;
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
      contract.alone(async (open) => {
        const [store, other] = [await open(), await open()];
        await other.create('s', SESSION);
        await other.close();
        expect(await store.info('s')).not.toHaveProperty('owner');
        await store.acquire('s');
      }));

    test('names that no home could keep are refused', async () => {
      for (const name of ['', 'x'.repeat(1025), '\ud800', 'a\0b'])
        await expect(contract.shared.create(name, SESSION)).rejects.toMatchObject({ code: 'name_malformed' });
    });
  });
}
