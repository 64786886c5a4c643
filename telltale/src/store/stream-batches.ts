import type { RuntimeError } from '../lib/errors.ts';
import type { Append, StreamWriter, TableWrite } from './store.ts';
import { appendTooLarge, checkName, eventMalformed, MAX_APPEND_CHARS } from './store-errors.ts';

/** What is written in the same transaction as an event. */
export interface Beside {
  /** Messages of the stream's inbox that the event stands for. */
  readonly consumed?: readonly number[];
  readonly writes?: readonly TableWrite[];
}

/**
 * The writing half of a stream's log. What is added in one go, up to the end of the microtask unless `later` says
 * otherwise, is one append of the store: all of it is on the log after a crash, or nothing. While the store is busy it
 * gathers longer, until the store is ready for more. A record, and functions that all logs share: there is one for each
 * session that is at work.
 */
export interface StreamBatches<Owner, Event> extends Commits {
  readonly owner: Owner;
  readonly calls: BatchCalls<Owner, Event>;
  readonly writer: StreamWriter;
  readonly crashPoint: StreamBatchesCrashPoint | undefined;
  /** What was added since the last append; undefined where nothing was. */
  batch: StreamBatchesBatch<Event> | undefined;
  addedSeq: number;
  writtenStatus: string;
  writtenDue: number | undefined;
}

/** How far the log is committed, and who waits for more. */
interface Commits {
  /** The last event that is committed. */
  lastCommitted: number;
  /** Why nothing is committed any more. */
  lost: RuntimeError | undefined;
  waiters: StreamBatchesWaiter[];
}

/** What the batches of a log ask of it and tell it. */
export interface BatchCalls<Owner, Event> {
  /** What the stream's status is now; the store is told where it differs from what it was told last. */
  readonly status: (owner: Owner) => string;
  /** When the stream is to be worked on again, where it waits for a time; told with the status. */
  readonly due?: (owner: Owner) => number | undefined;
  /** After an append was handed to the store that all events so far are in, with its own. */
  readonly onAppended?: (owner: Owner, events: readonly Event[]) => void;
  readonly onCommitted: (owner: Owner, through: number, events: readonly Event[]) => void;
  /** The stream was lost to another writer, or cannot be written. Called once. */
  readonly onLost: (owner: Owner, error: RuntimeError) => void;
  /** When what was added is handed to the store: as soon as the store is ready for it, if absent. */
  readonly later?: (owner: Owner, flush: () => void) => void;
}

export interface StreamBatchesDeps<Owner, Event> {
  readonly owner: Owner;
  readonly calls: BatchCalls<Owner, Event>;
  readonly writer: StreamWriter;
  /** The last event that is committed when this begins. */
  readonly seq: number;
  /** What the store was told last; unknown if absent. */
  readonly writtenStatus?: string | undefined;
  /** Told `append:TYPE` of each event before the store gets it. */
  readonly crashPoint?: StreamBatchesCrashPoint | undefined;
}

type StreamBatchesCrashPoint = (name: string) => void;

interface StreamBatchesWaiter {
  readonly seq: number;
  readonly then: (error?: RuntimeError) => void;
}

/**
 * With more than this, a batch is parted: results that each are within their limit must not be too much together. Half of
 * what an append may have, so that the line that comes next is never what makes it too large.
 */
const MAX_BATCH_CHARS = 32 * 1024 * 1024;

/** With more than this, a batch is handed over though the store is busy: what waits there is counted over all streams. */
const MAX_GATHERED_CHARS = 16 * 1024;

interface StreamBatchesBatch<Event> {
  readonly lines: string[];
  chars: number;
  readonly events: Event[];
  consumed: number[] | undefined;
  writes: TableWrite[] | undefined;
  /** It waits for the store to be ready, and for nothing else. */
  gathers: boolean;
  /** As they were at its last event: what the next one has changed is told with the append that it is in. */
  status: string;
  due: number | undefined;
}

interface BatchedEvent {
  readonly seq: number;
  readonly type: string;
}

export const createStreamBatches = <Owner, Event extends BatchedEvent>({
  owner,
  calls,
  writer,
  seq,
  writtenStatus = '',
  crashPoint,
}: StreamBatchesDeps<Owner, Event>): StreamBatches<Owner, Event> => ({
  owner,
  calls,
  writer,
  crashPoint,
  waiters: [],
  batch: undefined,
  lost: undefined,
  addedSeq: seq,
  lastCommitted: seq,
  writtenStatus,
  writtenDue: undefined,
});

export function addToBatch<Owner, Event extends BatchedEvent>(
  batches: StreamBatches<Owner, Event>,
  event: Event,
  seq: number,
  line: string,
  beside: Beside | undefined,
): void {
  const { batch, owner, calls, writer } = batches;
  if (batch !== undefined && batch.chars + line.length > MAX_BATCH_CHARS) {
    handOver(batches);
    addToBatch(batches, event, seq, line, beside);
    return;
  }
  batches.addedSeq = seq;
  if (batch !== undefined) {
    batch.chars += line.length;
    batch.lines.push(line);
    batch.events.push(event);
    batch.status = calls.status(owner);
    batch.due = calls.due?.(owner);
    if (beside !== undefined) takeBeside(batch, beside);
    if (batch.gathers && isUrgent(batch)) {
      batch.gathers = false;
      writer.whenDue?.(() => flush(batches), true);
    }
    return;
  }
  const fresh: StreamBatchesBatch<Event> = {
    lines: [line],
    chars: line.length,
    events: [event],
    consumed: undefined,
    writes: undefined,
    gathers: false,
    status: calls.status(owner),
    due: calls.due?.(owner),
  };
  if (beside !== undefined) takeBeside(fresh, beside);
  batches.batch = fresh;
  const flushNow = () => flush(batches);
  if (calls.later !== undefined) calls.later(owner, flushNow);
  else if (writer.whenDue === undefined) queueMicrotask(flushNow);
  else if (isUrgent(fresh)) writer.whenDue(flushNow, true);
  else {
    fresh.gathers = true;
    writer.whenDue(() => {
      if (fresh.gathers) flush(batches); // else it has got a later place
    });
  }
}

/** Writes to tables are made in the order of the calls, whichever stream's they are. */
const isUrgent = ({ chars, writes }: StreamBatchesBatch<unknown>): boolean =>
  chars > MAX_GATHERED_CHARS || writes !== undefined;

function takeBeside(batch: StreamBatchesBatch<unknown>, { consumed, writes }: Beside): void {
  if (consumed !== undefined) batch.consumed = [...(batch.consumed ?? []), ...consumed];
  if (writes !== undefined) batch.writes = [...(batch.writes ?? []), ...writes];
}

/** Calls back once all events up to `seq` are committed, or with the reason why they never will be. */
export function whenCommitted(batches: Commits, seq: number, then: (error?: RuntimeError) => void): void {
  if (batches.lost !== undefined) then(batches.lost);
  else if (seq <= batches.lastCommitted) then();
  else batches.waiters.push({ seq, then });
}

/** Resolves once all events up to `seq` are committed. */
export const committedThrough = (batches: Commits, seq: number): Promise<void> =>
  new Promise((resolve, reject) =>
    whenCommitted(batches, seq, (error) => (error === undefined ? resolve() : reject(error))),
  );

function flush<Owner, Event extends BatchedEvent>(batches: StreamBatches<Owner, Event>): void {
  const { owner, calls, batch } = batches;
  if (batch === undefined) return;
  handOver(batches);
  calls.onAppended?.(owner, batch.events);
}

function handOver<Owner, Event extends BatchedEvent>(batches: StreamBatches<Owner, Event>): void {
  const { writer, crashPoint, batch, addedSeq: through } = batches;
  if (batch === undefined) return;
  const { events, lines, consumed, writes, status: now, due: then } = batch;
  const changed = now === batches.writtenStatus && then === batches.writtenDue ? undefined : now;
  batches.batch = undefined;
  batches.writtenStatus = now;
  batches.writtenDue = then;
  if (crashPoint !== undefined) for (const { type } of events) crashPoint(`append:${type}`);
  const expectedSeq = through - lines.length;
  const append: Append =
    changed === undefined && consumed === undefined && writes === undefined
      ? { expectedSeq, events: lines }
      : {
          expectedSeq,
          events: lines,
          ...(changed === undefined ? {} : { status: changed }),
          ...(changed === undefined || then === undefined ? {} : { due: then }),
          ...(consumed === undefined ? {} : { consumed }),
          ...(writes === undefined ? {} : { writes }),
        };
  writer.append(append, (error) => settle(batches, through, events, error));
}

function settle<Owner, Event>(
  batches: StreamBatches<Owner, Event>,
  through: number,
  events: readonly Event[],
  error: RuntimeError | undefined,
): void {
  const { owner, calls } = batches;
  if (error === undefined) {
    batches.lastCommitted = through;
    calls.onCommitted(owner, through, events);
  } else if (batches.lost === undefined) {
    batches.lost = error;
    calls.onLost(owner, error);
  }
  if (batches.waiters.length > 0) wake(batches, error);
}

function wake(batches: Commits, error: RuntimeError | undefined): void {
  const { waiters, lastCommitted } = batches;
  const due = error === undefined ? waiters.filter((waiter) => waiter.seq <= lastCommitted) : waiters;
  batches.waiters = error === undefined ? waiters.filter((waiter) => waiter.seq > lastCommitted) : [];
  for (const { then } of due) then(error);
}

/**
 * The events of an append, one per line: JSON contains no line breaks. Throws if no store could write it. The lines are
 * checked after joining, because checking each alone would copy it first.
 */
export function joinAppend(stream: string, append: Append): string {
  const { events } = append;
  checkSize(stream, append);
  const [first = ''] = events;
  const body = events.length < 2 ? first : events.join('\n');
  let breaks = 0;
  for (let at = body.indexOf('\n'); at !== -1; at = body.indexOf('\n', at + 1)) breaks++;
  if (breaks !== Math.max(0, events.length - 1)) throw eventMalformed(stream);
  return body;
}

function checkSize(stream: string, { events, writes }: Append): void {
  let chars = 0;
  for (const event of events) chars += event.length + 1;
  if (chars > MAX_APPEND_CHARS) throw appendTooLarge(stream, chars, MAX_APPEND_CHARS);
  if (writes === undefined) return;
  for (const { table, key } of writes) {
    checkName('A table', table);
    checkName('A key', key);
  }
}
