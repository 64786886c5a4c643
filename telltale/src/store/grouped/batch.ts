import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Append } from '../store.ts';
import type { AppendOp, ReadRequest, Results, WriteRequest } from './messages.ts';
import { type AppendEntry, type Making, type WriterState, whyNot } from './writer-state.ts';

export type Settled = (error?: RuntimeError) => void;

export interface RequestEntry<Request> {
  readonly kind: 'request';
  readonly request: Request;
  /** Of the stream that it makes, and what goes with it. */
  readonly makes?: WriterState;
  readonly making?: Making;
  readonly resolve: (value: Results[keyof Results] | Promise<Results[keyof Results]>) => void;
  readonly reject: (error: RuntimeError) => void;
}

export type WriteEntry = AppendEntry | RequestEntry<WriteRequest>;

/** What is written and read with one message to the thread. */
export interface Batch {
  readonly writes: WriteEntry[];
  readonly reads: RequestEntry<ReadRequest>[];
  /** In the order of the calls; `settledBy` is each one's entry. */
  readonly settled: Settled[];
  readonly settledBy: AppendEntry[];
  chars: number;
}

export const emptyBatch = (): Batch => ({
  writes: [],
  reads: [],
  settled: [],
  settledBy: [],
  chars: 0,
});

/** Rows do not grow beyond this by joining appends: a reader gets them whole. */
const JOINED_CHARS = 256 * 1024;

/**
 * Puts an append into the batch. One that follows another of the same writer becomes part of it, since both go through
 * or neither does; one that writes to tables stays apart, so that such writes happen in the order of the calls. The
 * first of a new stream becomes part of its making.
 */
export function addAppend(
  batch: Batch,
  writer: WriterState,
  append: Append,
  body: string,
  settled: Settled,
): void {
  const { expectedSeq, events, status, due, consumed, writes } = append;
  const last = writer.open;
  const isNext = last !== undefined && last.expectedSeq + last.count === expectedSeq;
  batch.settled.push(settled);
  batch.chars += body.length;
  writer.queued += events.length;
  if (isNext && writes === undefined && last.body.length + body.length < JOINED_CHARS) {
    if (events.length > 0) last.body = last.count === 0 ? body : `${last.body}\n${body}`;
    last.count += events.length;
    if (status !== undefined) {
      last.status = status;
      last.due = due ?? null;
    }
    if (consumed !== undefined) last.consumed = [...(last.consumed ?? []), ...consumed];
    batch.settledBy.push(last);
    return;
  }
  const entry: AppendEntry = {
    kind: 'append',
    writer,
    expectedSeq,
    count: events.length,
    body,
    status: status ?? null,
    due: due ?? null,
    consumed: consumed ?? null,
    writes:
      writes?.map(({ table, key, value }) => [
        table,
        key,
        value === undefined ? null : JSON.stringify(value),
      ]) ?? null,
    error: undefined,
  };
  writer.open = entry;
  if (writer.making !== undefined && writer.making.first === undefined) writer.making.first = entry;
  else batch.writes.push(entry);
  batch.settledBy.push(entry);
}

/** Puts in an append that fails already, so that it is settled in its turn. */
export function addFailed(batch: Batch, writer: WriterState, error: RuntimeError, settled: Settled): void {
  batch.settled.push(settled);
  batch.settledBy.push({
    kind: 'append',
    writer,
    expectedSeq: 0,
    count: 0,
    body: '',
    status: null,
    due: null,
    consumed: null,
    writes: null,
    error,
  });
}

/** The append that is written with an entry; undefined where it is a request, and none of a stream that it makes. */
export const appendOf = (entry: WriteEntry): AppendEntry | undefined =>
  entry.kind === 'append' ? entry : entry.making?.first;

/**
 * About so many of the first writes of a batch, and those who wait for them; the rest stays in it. A request behind them
 * comes along, since it may be one with the append before it: the end of a stream and letting go of it are one commit.
 */
export function partOff(batch: Batch, about: number): Batch {
  const { writes, reads, settled, settledBy } = batch;
  let seam = about;
  for (let next = writes[seam]; next?.kind === 'request' && next.makes === undefined; next = writes[seam])
    seam++;
  const first = { ...emptyBatch(), writes: writes.slice(0, seam) };
  const rest = { ...emptyBatch(), writes: writes.slice(seam), reads };
  const sent = new Set(first.writes.map(appendOf));
  const kept = new Set(rest.writes.map(appendOf));
  const behind = new Set<WriterState>();
  for (const [place, tell] of settled.entries()) {
    const entry = settledBy[place] as AppendEntry;
    // One that has failed already is told in its turn: behind what its writer has in the rest.
    const stays = kept.has(entry) || (!sent.has(entry) && behind.has(entry.writer));
    if (stays) behind.add(entry.writer);
    const part = stays ? rest : first;
    part.settled.push(tell);
    part.settledBy.push(entry);
  }
  for (const entry of first.writes) first.chars += appendOf(entry)?.body.length ?? 0;
  Object.assign(batch, rest, { chars: Math.max(0, batch.chars - first.chars) });
  return first;
}

/** The append as it is sent, its writer moved on; undefined, with its error set, where the writer has come to grief. */
export function toOp(entry: AppendEntry): AppendOp | undefined {
  const { writer, expectedSeq, count, body, status, due, consumed, writes } = entry;
  writer.open = undefined;
  entry.error = whyNot(writer, expectedSeq, writer.sent);
  if (entry.error !== undefined) return undefined;
  writer.failure = undefined;
  writer.sent += count;
  return [writer.id, writer.epoch, expectedSeq, count, body, status, consumed, writes, due];
}

/** Tells callers of appends, in their order, what became of theirs: those from `from` to before `to`. */
export function settleAppends({ settled, settledBy }: Batch, from = 0, to = settled.length): void {
  for (let place = from; place < to; place++) {
    try {
      settled[place]?.(settledBy[place]?.error);
    } catch (error) {
      surface(error);
    }
  }
}

/** A caller's bug is his own, not his neighbours': it surfaces as an uncaught exception. */
export function surface(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
