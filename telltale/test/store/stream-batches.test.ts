import { expect, it } from 'vitest';
import type { Append, StreamWriter } from '../../src/store/store.ts';
import { addToBatch, committedThrough, createStreamBatches } from '../../src/store/stream-batches.ts';

it('parts what is too much for one append, in order and with what is written beside it', async () => {
  const appends: Append[] = [];
  const writer = {
    stream: 's',
    append(append: Append, settled: () => void) {
      appends.push(append);
      queueMicrotask(settled);
    },
  } as unknown as StreamWriter;
  const batches = createStreamBatches<undefined, { seq: number; type: string }>({
    owner: undefined,
    calls: { status: () => 'running', onCommitted: () => undefined, onLost: () => undefined },
    writer,
    seq: 0,
  });
  const line = 'x'.repeat(15 * 1024 * 1024);
  for (let seq = 1; seq <= 5; seq++) addToBatch(batches, { seq, type: 'e' }, line, { consumed: [seq] });
  await committedThrough(batches, 5);
  expect(appends.map(({ expectedSeq, events, consumed }) => [expectedSeq, events.length, consumed])).toEqual([
    [0, 2, [1, 2]],
    [2, 2, [3, 4]],
    [4, 1, [5]],
  ]);
});
