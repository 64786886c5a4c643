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
  for (let seq = 1; seq <= 5; seq++) addToBatch(batches, { seq, type: 'e' }, seq, line, { consumed: [seq] });
  await committedThrough(batches, 5);
  expect(appends.map(({ expectedSeq, events, consumed }) => [expectedSeq, events.length, consumed])).toEqual([
    [0, 2, [1, 2]],
    [2, 2, [3, 4]],
    [4, 1, [5]],
  ]);
});

it('tells of a part what was so at its last event, and takes none for the whole', async () => {
  const told: (readonly [number, string | undefined, number | undefined])[] = [];
  const whole: number[] = [];
  const writer = {
    stream: 's',
    append({ expectedSeq, events, status, due }: Append, settled: () => void) {
      told.push([expectedSeq + events.length, status, due]);
      queueMicrotask(settled);
    },
  } as unknown as StreamWriter;
  const owner = { seq: 0, status: 'running', due: 1 };
  const batches = createStreamBatches<typeof owner, { seq: number; type: string }>({
    owner,
    calls: {
      status: ({ status }) => status,
      due: ({ due }) => due,
      onAppended: ({ seq }, events) => whole.push(seq - (events.at(-1)?.seq ?? 0)),
      onCommitted: () => undefined,
      onLost: () => undefined,
    },
    writer,
    seq: 0,
  });
  const line = 'x'.repeat(20 * 1024 * 1024);
  for (const [seq, status] of ['running', 'waiting', 'completed'].entries()) {
    Object.assign(owner, { seq: seq + 1, status, due: seq });
    addToBatch(batches, { seq: seq + 1, type: 'e' }, seq + 1, line, undefined);
  }
  await committedThrough(batches, 3);
  expect(told).toEqual([
    [1, 'running', 0],
    [2, 'waiting', 1],
    [3, 'completed', 2],
  ]);
  expect(whole).toEqual([0]);
});

/** A writer that asks for what has gathered when `ask` is called. */
function gathering() {
  const appends: Append[] = [];
  let due: (() => void)[] = [];
  const urgent: boolean[] = [];
  const writer = {
    stream: 's',
    append: (append: Append, settled: () => void) => {
      appends.push(append);
      queueMicrotask(settled);
    },
    whenDue(handOver: () => void, isUrgent = false) {
      due.push(handOver);
      urgent.push(isUrgent);
    },
  } as unknown as StreamWriter;
  const batches = createStreamBatches<undefined, { seq: number; type: string }>({
    owner: undefined,
    calls: { status: () => 'running', onCommitted: () => undefined, onLost: () => undefined },
    writer,
    seq: 0,
  });
  const ask = () => {
    const asked = due;
    due = [];
    for (const handOver of asked) handOver();
  };
  return { appends, batches, ask, urgent };
}
const microtasks = () => new Promise((resolve) => setImmediate(resolve));

it('gathers until the store asks for it: what came in several microtasks is one append', async () => {
  const { appends, batches, ask } = gathering();
  addToBatch(batches, { seq: 1, type: 'e' }, 1, '{"n":1}', undefined);
  await microtasks();
  addToBatch(batches, { seq: 2, type: 'e' }, 2, '{"n":2}', { consumed: [7] });
  await microtasks();
  expect(appends).toEqual([]);
  ask();
  expect(appends).toEqual([
    { expectedSeq: 0, events: ['{"n":1}', '{"n":2}'], status: 'running', consumed: [7] },
  ]);
  await committedThrough(batches, 2);
});

it('makes no append where nothing is left when the store asks', () => {
  const { appends, batches, ask } = gathering();
  addToBatch(batches, { seq: 1, type: 'e' }, 1, '{"n":1}', undefined);
  ask();
  ask();
  expect(appends).toHaveLength(1);
});

it.each([
  ['writes to tables', '{}', { writes: [{ table: 't', key: 'k', value: 1 }] }],
  ['more than 16 KiB', 'x'.repeat(16 * 1024), undefined],
])('does not wait for the store to be ready with %s', (_, line, beside) => {
  const first = gathering();
  addToBatch(first.batches, { seq: 1, type: 'e' }, 1, `${line} `, beside);
  expect(first.urgent).toEqual([true]);
  first.ask();
  expect(first.appends.map(({ events }) => events.length)).toEqual([1]);

  const later = gathering();
  addToBatch(later.batches, { seq: 1, type: 'e' }, 1, '{"n":1}', undefined);
  addToBatch(later.batches, { seq: 2, type: 'e' }, 2, line, beside);
  addToBatch(later.batches, { seq: 3, type: 'e' }, 3, '{"n":3}', undefined);
  expect(later.urgent).toEqual([false, true]);
  later.ask();
  expect(later.appends.map(({ events }) => events.length)).toEqual([3]); // all or nothing, as without it
});

it('writes of two streams to one table are handed over in the order in which they were asked for', () => {
  const appends: string[] = [];
  const due: (() => void)[] = [];
  const streamOf = (stream: string) => {
    const writer = {
      stream,
      append: ({ writes }: Append) => appends.push(`${stream} ${JSON.stringify(writes?.[0]?.value)}`),
      whenDue: (handOver: () => void) => void due.push(handOver),
    } as unknown as StreamWriter;
    const calls = { status: () => '', onCommitted: () => undefined, onLost: () => undefined };
    return createStreamBatches<undefined, { seq: number; type: string }>({
      owner: undefined,
      calls,
      writer,
      seq: 0,
    });
  };
  const [a, b] = [streamOf('a'), streamOf('b')];
  const set = (value: number) => ({ writes: [{ table: 't', key: 'x', value }] });
  addToBatch(a, { seq: 1, type: 'e' }, 1, '{}', undefined); // gathers
  addToBatch(b, { seq: 1, type: 'e' }, 1, '{}', set(1));
  addToBatch(a, { seq: 2, type: 'e' }, 2, '{}', set(2));
  for (const handOver of due) handOver();
  expect(appends).toEqual(['b 1', 'a 2']);
});
