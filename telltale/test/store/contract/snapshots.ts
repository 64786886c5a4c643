import { describe, expect, test } from 'vitest';
import { append, lines } from '../appending.ts';
import { type Contract, SESSION } from './contract.ts';

export function snapshotsContract(contract: Contract): void {
  describe('snapshots', () => {
    test('snapshots come back oldest first, all of them: each may hold only what changed since the one before', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: lines(20, 0) });
      expect(await store.snapshots('s')).toEqual([]);
      for (let seq = 1; seq <= 20; seq++) writer.snapshot(seq, `state ${seq}`);
      const kept = await store.snapshots('s');
      expect(kept.at(-1)).toEqual({ seq: 20, body: 'state 20' });
      expect(kept).toHaveLength(20);
      expect(kept).toEqual([...kept].sort((a, b) => a.seq - b.seq));
    });

    test('a snapshot is kept behind the append it stands for, and not by a writer that lost the stream', async () => {
      const { store, dead } = contract;
      const late = await dead.create('s', SESSION);
      const done = append(late, { expectedSeq: 0, events: ['{}'] });
      late.snapshot(1, 'of the first');
      await done;
      expect(await dead.snapshots('s')).toEqual([{ seq: 1, body: 'of the first' }]);
      await store.acquire('s');
      late.snapshot(1, 'too late');
      expect(await dead.snapshots('s')).toEqual([{ seq: 1, body: 'of the first' }]);
    });

    test('of two at the same event the later counts, and whichever was taken first, the oldest comes first', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: lines(3, 0) });
      for (const [seq, body] of [
        [3, 'three'],
        [1, 'one'],
        [2, 'two'],
        [1, 'one anew'],
      ] as const)
        writer.snapshot(seq, body);
      expect(await store.snapshots('s')).toEqual([
        { seq: 1, body: 'one anew' },
        { seq: 2, body: 'two' },
        { seq: 3, body: 'three' },
      ]);
    });

    test('a snapshot ahead of the log is not kept', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      writer.snapshot(5, 'of what is not there');
      expect(await store.snapshots('s')).toEqual([]);
    });
  });
}
