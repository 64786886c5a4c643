import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { checkEvents, MAX_QUEUED_APPENDS, MAX_QUEUED_CHARS } from '../limits.ts';
import type { Append } from '../store.ts';
import { storeOverloaded } from '../store-errors.ts';
import {
  addAppend,
  addFailed,
  type Batch,
  emptyBatch,
  type RequestEntry,
  type Settled,
  settleAppends,
  toOp,
  type WriteEntry,
} from './batch.ts';
import { fromJson } from './from-json.ts';
import type {
  AppendOp,
  FromThread,
  Outcome,
  ReadRequest,
  Results,
  ToThread,
  WriteRequest,
} from './messages.ts';
import { noteFailure, type WriterState, whyNot } from './writer-state.ts';

/**
 * Gathers what is asked while the thread is busy and sends it as one group as soon as it is not. One message is on its
 * way at a time; there is no timer, so a lone append is sent at once and a hundred sessions share a commit.
 */
export interface CommitQueue {
  append(writer: WriterState, append: Append, settled: Settled): void;
  /** Settles with an error, in turn behind the appends before it. */
  refuse(writer: WriterState, error: RuntimeError, settled: Settled): void;
  write<R extends WriteRequest>(request: R): Promise<Results[R['op']]>;
  /** Answered after all writes that were asked for before it. */
  read<R extends ReadRequest>(request: R): Promise<Results[R['op']]>;
  /** What the thread says of the group on its way. */
  replied(
    reply: Extract<FromThread, { readonly kind: 'committed' | 'written' | 'failed' | 'answers' }>,
  ): void;
  /** All that comes later fails with this; resolves when everything before it is settled. */
  shut(error: RuntimeError): Promise<void>;
  /** Everything that waits, and all that comes later, fails with this. */
  fail(error: RuntimeError): void;
}

export interface CommitQueueEdges {
  readonly location: string;
  readonly now: () => number;
  readonly post: (message: ToThread) => void;
  /** The process must stay for what is queued, and may end when nothing is. */
  readonly hold: () => void;
  readonly letGo: () => void;
  /** After the commit of events of this stream. */
  readonly moved: (stream: string) => void;
}

interface Flight {
  readonly batch: Batch;
  /** The writes that were sent, in order. */
  readonly sent: readonly WriteEntry[];
  readonly awaitsAnswers: boolean;
}

export function createCommitQueue(edges: CommitQueueEdges): CommitQueue {
  let batch = emptyBatch();
  let flight: Flight | undefined;
  let isScheduled = false;
  let dead: RuntimeError | undefined;
  let idlers: (() => void)[] = [];

  const isEmpty = () => batch.settled.length + batch.writes.length + batch.reads.length === 0;

  const schedule = (later: (flush: () => void) => void) => {
    if (isScheduled || flight !== undefined) return;
    isScheduled = true;
    edges.hold();
    later(flush);
  };

  const flush = () => {
    isScheduled = false;
    if (flight !== undefined) return;
    if (isEmpty()) {
      edges.letGo();
      for (const resolve of idlers) resolve();
      idlers = [];
      return;
    }
    const sending = batch;
    batch = emptyBatch();
    const sent: WriteEntry[] = [];
    const writes: (AppendOp | WriteRequest)[] = [];
    for (const entry of sending.writes) {
      const op = entry.kind === 'append' ? toOp(entry) : entry.request;
      if (op === undefined) continue;
      sent.push(entry);
      writes.push(op);
    }
    const reads = sending.reads.map(({ request }) => request);
    flight = { batch: sending, sent, awaitsAnswers: reads.length > 0 };
    if (writes.length + reads.length > 0) edges.post({ kind: 'group', now: edges.now(), writes, reads });
    if (writes.length === 0) settle(flight);
  };

  /** What has gathered meanwhile is sent before callers are told, so that the thread does not wait for them. */
  const land = () => {
    flight = undefined;
    if (!isEmpty()) flush();
  };

  /** Appends that callers make in answer come together in one group: it is sent when all of them have been told. */
  const settle = (landed: Flight) => {
    if (!landed.awaitsAnswers) land();
    settleAppends(landed.batch);
    const moved = new Set<string>();
    for (const entry of landed.sent)
      if (entry.kind === 'append' && entry.count > 0 && entry.error === undefined)
        moved.add(entry.writer.stream);
    for (const stream of moved) edges.moved(stream);
    schedule(setImmediate);
  };

  const failEntry = (entry: WriteEntry, error: RuntimeError) => {
    if (entry.kind === 'request') {
      entry.reject(error);
      return;
    }
    entry.error = error;
    noteFailure(entry.writer, error);
    batch.open.delete(entry.writer);
  };

  const conclude = (sent: readonly WriteEntry[], outcomes: ReadonlyMap<number, Outcome>) => {
    for (const [place, entry] of sent.entries()) {
      const outcome = outcomes.get(place);
      if (outcome !== undefined && 'error' in outcome) failEntry(entry, fromJson(outcome.error));
      else if (entry.kind === 'append') entry.writer.committed = entry.expectedSeq + entry.count;
      else if (outcome !== undefined) entry.resolve(outcome.value);
    }
  };

  const overload = (chars: number): RuntimeError | undefined => {
    if (batch.settled.length >= MAX_QUEUED_APPENDS)
      return storeOverloaded(edges.location, `${batch.settled.length} appends`);
    if (batch.chars + chars > MAX_QUEUED_CHARS)
      return storeOverloaded(edges.location, `${batch.chars} characters`);
    return undefined;
  };

  const request = <R extends ReadRequest | WriteRequest>(
    asked: R,
    queue: (entry: RequestEntry<R>) => void,
  ): Promise<Results[R['op']]> => {
    if (dead !== undefined) return Promise.reject(dead);
    if (batch.writes.length + batch.reads.length >= MAX_QUEUED_APPENDS)
      return Promise.reject(storeOverloaded(edges.location, `${batch.writes.length} writes`));
    return new Promise<Results[R['op']]>((resolve, reject) => {
      // The thread answers each request with the result of its kind (`perform.ts`).
      queue({ kind: 'request', request: asked, resolve: resolve as RequestEntry<R>['resolve'], reject });
      schedule(queueMicrotask);
    });
  };

  return {
    append(writer, append, settled) {
      try {
        checkEvents(writer.stream, append.events);
        // One line an event: JSON has no line break of its own.
        const body = append.events.join('\n');
        const why = dead ?? whyNot(writer, append.expectedSeq, writer.queued) ?? overload(body.length);
        if (why !== undefined) throw why;
        addAppend(batch, writer, append, body, settled);
      } catch (error) {
        const why = toRuntimeError(error);
        writer.failure ??= why;
        addFailed(batch, writer, why, settled);
      }
      schedule(queueMicrotask);
    },
    refuse(writer, error, settled) {
      addFailed(batch, writer, error, settled);
      schedule(queueMicrotask);
    },
    write: (asked) => request(asked, (entry) => batch.writes.push(entry)),
    read: (asked) => request(asked, (entry) => batch.reads.push(entry)),
    replied(reply) {
      if (flight === undefined) return;
      const landed = flight;
      switch (reply.kind) {
        case 'committed':
          conclude(landed.sent, new Map());
          break;
        case 'written':
          conclude(landed.sent, new Map(reply.outcomes));
          break;
        case 'failed': {
          const error = fromJson(reply.error);
          for (const entry of landed.sent) failEntry(entry, error);
          break;
        }
        case 'answers':
          for (const [place, outcome] of reply.outcomes.entries()) {
            if ('error' in outcome) landed.batch.reads[place]?.reject(fromJson(outcome.error));
            else landed.batch.reads[place]?.resolve(outcome.value);
          }
          land();
          schedule(setImmediate);
          return;
      }
      settle(landed);
    },
    shut(error) {
      dead ??= error;
      if (flight === undefined && !isScheduled && isEmpty()) return Promise.resolve();
      return new Promise((resolve) => idlers.push(resolve));
    },
    fail(error) {
      dead ??= error;
      const lost = flight === undefined ? [batch] : [flight.batch, batch];
      flight = undefined;
      batch = emptyBatch();
      for (const { writes, reads, settledBy } of lost) {
        for (const entry of writes) failEntry(entry, error);
        for (const { reject } of reads) reject(error);
        for (const entry of settledBy) entry.error ??= error;
      }
      for (const one of lost) settleAppends(one);
      schedule(setImmediate);
    },
  };
}
