import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { Append } from '../store.ts';
import type { AppendOp, FromBackend, ReadRequest, Results, WriteRequest } from './messages.ts';
import { type AppendEntry, type Making, noteFailure, type WriterState, whyNot } from './writer-state.ts';

/** A batch on its way to the thread and back. */
export interface Flight {
  readonly batch: Batch;
  /** The writes that were sent, in order: without those whose writer had come to grief. */
  readonly sent: readonly WriteEntry[];
  readonly writes: readonly (AppendOp | WriteRequest)[];
  readonly reads: readonly ReadRequest[];
}

export type GroupReply = Extract<
  FromBackend,
  { readonly kind: 'committed' | 'written' | 'failed' | 'answers' }
>;

export function takeOff(batch: Batch): Flight {
  const sent: WriteEntry[] = [];
  const writes: (AppendOp | WriteRequest)[] = [];
  for (const entry of batch.writes) {
    const op = entry.kind === 'append' ? toOp(entry) : toRequest(entry, writes.length);
    if (op === undefined) continue;
    sent.push(entry);
    writes.push(op);
  }
  return { batch, sent, writes, reads: batch.reads.map(({ request }) => request) };
}

/** The request as it is sent at this place; undefined where its stream is not to be made after all. */
function toRequest(entry: RequestEntry<WriteRequest>, place: number): WriteRequest | undefined {
  const { request, makes, making } = entry;
  if (makes === undefined || making === undefined || request.op !== 'create') return request;
  makes.making = undefined;
  if (making.failure !== undefined) {
    entry.reject(making.failure);
    return undefined;
  }
  makes.id = -1 - place;
  const { first } = making;
  return first === undefined ? request : { ...request, first: toOp(first) ?? null };
}

/** What is still to be answered once it is known what became of the writes. */
export const readsOf = ({ batch, reads }: Flight): Flight => ({
  batch: { ...emptyBatch(), reads: batch.reads },
  sent: [],
  writes: [],
  reads,
});

/** Notes what became of a flight, and answers its requests. Those who appended are told later, in order. */
export function conclude({ batch, sent }: Flight, reply: GroupReply): void {
  switch (reply.kind) {
    case 'committed':
      for (const entry of sent) succeed(entry);
      return;
    case 'written': {
      const outcomes = new Map(reply.outcomes);
      for (const [place, entry] of sent.entries()) {
        const outcome = outcomes.get(place);
        if (outcome !== undefined && 'error' in outcome) failEntry(entry, fromJson(outcome.error));
        else {
          succeed(entry);
          if (entry.kind === 'request' && outcome !== undefined) entry.resolve(outcome.value);
        }
      }
      return;
    }
    case 'failed': {
      const error = fromJson(reply.error);
      for (const entry of sent) failEntry(entry, error);
      return;
    }
    case 'answers':
      for (const [place, outcome] of reply.outcomes.entries()) {
        if ('error' in outcome) batch.reads[place]?.reject(fromJson(outcome.error));
        else batch.reads[place]?.resolve('later' in outcome ? outcome.later : outcome.value);
      }
  }
}

/** Nothing of the batch will be written or answered any more. */
export function abandon({ writes, reads, settledBy }: Batch, error: RuntimeError): void {
  for (const entry of writes) failEntry(entry, error);
  for (const { reject } of reads) reject(error);
  for (const entry of settledBy) entry.error ??= error;
}

/** Tells of the streams that have new events; of one perhaps twice. */
export function tellMoved({ sent }: Flight, moved: (stream: string) => void): void {
  for (const entry of sent) {
    const append = appendOf(entry);
    if (append !== undefined && append.count > 0 && append.error === undefined) moved(append.writer.stream);
  }
}

function succeed(entry: WriteEntry): void {
  const append = appendOf(entry);
  if (append !== undefined) append.writer.committed = append.expectedSeq + append.count;
}

function failEntry(entry: WriteEntry, error: RuntimeError): void {
  if (entry.kind === 'request') entry.reject(error);
  const append = appendOf(entry);
  if (append === undefined) return;
  append.error = error;
  append.writer.open = undefined;
  noteFailure(append.writer, error);
}

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
const appendOf = (entry: WriteEntry): AppendEntry | undefined =>
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
function toOp(entry: AppendEntry): AppendOp | undefined {
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

/** A caller's bug is his own, not his neighbors': it surfaces as an uncaught exception. */
export function surface(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** An error that came from the thread, with its chain of causes. */
export function fromJson({ code, message, hint, retryable, cause }: ErrorJson): RuntimeError {
  return new RuntimeError(code, message, {
    hint,
    retryable,
    ...(cause === undefined ? {} : { cause: fromJson(cause) }),
  });
}
