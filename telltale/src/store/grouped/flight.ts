import type { RuntimeError } from '../../kernel/runtime-error.ts';
import { appendOf, type Batch, emptyBatch, type RequestEntry, toOp, type WriteEntry } from './batch.ts';
import { fromJson } from './from-json.ts';
import type { AppendOp, FromBackend, ReadRequest, WriteRequest } from './messages.ts';
import { noteFailure } from './writer-state.ts';

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
