import { describe, expect, test } from 'vitest';
import { append, lines } from '../appending.ts';
import { type Contract, SESSION } from './contract.ts';

export function readingContract(contract: Contract): void {
  describe('reading', () => {
    test('any range is read, wherever appends began and ended', async () => {
      const { store } = contract;
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
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      const neighbor = await store.create('n', SESSION);
      const all = lines(400, 0);
      for (const [n, line] of all.entries()) {
        if (n % 8 === 7) await append(neighbor, { expectedSeq: (n - 7) / 8, events: ['{"n":"neighbor"}'] });
        // Every eighth waits for its commit, so that these are many rows and not one.
        const done = append(writer, { expectedSeq: n, events: [line] });
        if (n % 2 === 0) await done;
      }
      for (const from of [1, 2, 63, 64, 65, 127, 128, 129, 130, 256, 257, 399, 400])
        expect(await store.read('s', { from, limit: 70 }), `${from}`).toEqual(all.slice(from - 1, from + 69));
      expect(await store.read('s')).toEqual(all);
    });

    test('a log longer than one message is read whole', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      const long = `{"x":"${'x'.repeat(100_000)}"}`;
      for (let n = 0; n < 30; n++) await append(writer, { expectedSeq: n, events: [long] });
      expect(await store.read('s')).toEqual(Array.from({ length: 30 }, () => long));
    });

    test('an unknown stream has no info, and reading it is refused with stream_unknown', async () => {
      const { store } = contract;
      expect(await store.info('nobody')).toBeUndefined();
      await expect(store.read('nobody')).rejects.toMatchObject({ code: 'stream_unknown' });
      await expect(store.snapshots('nobody')).rejects.toMatchObject({ code: 'stream_unknown' });
    });

    test('a read that is asked for behind appends sees them', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      const done = append(writer, { expectedSeq: 0, events: ['{}'] });
      expect(await store.read('s')).toEqual(['{}']);
      await done;
    });
  });
}
