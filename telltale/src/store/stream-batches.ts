import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { Append, StreamWriter, TableWrite } from './store.ts';

/** What is written in the same transaction as an event. */
export interface Beside {
  /** Messages of the stream's inbox that the event stands for. */
  readonly consumed?: readonly number[];
  readonly writes?: readonly TableWrite[];
}

/**
 * The writing half of a stream's log. What is added in one go, up to the end of the microtask unless `later` says
 * otherwise, is one append of the store: all of it is on the log after a crash, or nothing.
 */
export interface StreamBatches<Event> {
  add(event: Event, line: string, beside: Beside | undefined): void;
  /** Calls back once all events up to `seq` are committed, or with the reason why they never will be. */
  committed(seq: number, then: (error?: RuntimeError) => void): void;
  /** The last event that is committed. */
  committedSeq(): number;
}

export interface StreamBatchesEdges<Event> {
  readonly writer: StreamWriter;
  /** The last event that is committed when this begins. */
  readonly seq: number;
  /** What the stream's status is now; the store is told where it differs from what it was told last. */
  readonly status: () => string;
  /** What the store was told last; unknown if absent. */
  readonly writtenStatus?: string | undefined;
  /** When the stream is to be worked on again, where it waits for a time; told with the status. */
  readonly due?: () => number | undefined;
  /** After each append was handed to the store. */
  readonly onAppended?: () => void;
  readonly onCommitted: (through: number, events: readonly Event[]) => void;
  /** The stream was lost to another writer, or cannot be written. Called once. */
  readonly onLost: (error: RuntimeError) => void;
  /** When what was added is handed to the store: at the end of the microtask, if absent. */
  readonly later?: (flush: () => void) => void;
  /** Told `append:TYPE` of each event before the store gets it. */
  readonly crashPoint?: ((name: string) => void) | undefined;
}

interface Batch<Event> {
  readonly lines: string[];
  readonly events: Event[];
  consumed: number[] | undefined;
  writes: TableWrite[] | undefined;
}

/** An array of one is a fifth of the size of one that is pushed to. */
const batchOf = <Event>(event: Event, line: string): Batch<Event> => ({
  lines: [line],
  events: [event],
  consumed: undefined,
  writes: undefined,
});

function takeBeside(batch: Batch<unknown>, { consumed, writes }: Beside): void {
  if (consumed !== undefined) batch.consumed = [...(batch.consumed ?? []), ...consumed];
  if (writes !== undefined) batch.writes = [...(batch.writes ?? []), ...writes];
}

export function createStreamBatches<Event extends { readonly seq: number; readonly type: string }>({
  writer,
  seq,
  status,
  writtenStatus: known = '',
  due = () => undefined,
  onAppended,
  onCommitted,
  onLost,
  later = queueMicrotask,
  crashPoint,
}: StreamBatchesEdges<Event>): StreamBatches<Event> {
  let waiters: { seq: number; then: (error?: RuntimeError) => void }[] = [];
  /** Undefined where nothing waits to be handed over. */
  let batch: Batch<Event> | undefined;
  let lost: RuntimeError | undefined;
  let addedSeq = seq;
  let committedSeq = seq;
  let writtenStatus = known;
  let writtenDue: number | undefined;

  const wake = (error: RuntimeError | undefined) => {
    if (waiters.length === 0) return;
    const [first] = waiters;
    if (waiters.length === 1 && first !== undefined && first.seq <= committedSeq) {
      waiters = [];
      first.then(error);
      return;
    }
    const due = error === undefined ? waiters.filter((waiter) => waiter.seq <= committedSeq) : waiters;
    waiters = error === undefined ? waiters.filter((waiter) => waiter.seq > committedSeq) : [];
    for (const { then } of due) then(error);
  };

  const settle = (through: number, events: readonly Event[], error: RuntimeError | undefined) => {
    if (error === undefined) {
      committedSeq = through;
      onCommitted(through, events);
    } else if (lost === undefined) {
      lost = error;
      onLost(error);
    }
    wake(error);
  };

  const flush = () => {
    if (batch === undefined) return;
    const { events, lines, consumed, writes } = batch;
    const through = addedSeq;
    const now = status();
    const then = due();
    const changed = now === writtenStatus && then === writtenDue ? undefined : now;
    batch = undefined;
    writtenStatus = now;
    writtenDue = then;
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
    writer.append(append, (error) => settle(through, events, error));
    onAppended?.();
  };

  return {
    add(event, line, beside) {
      addedSeq = event.seq;
      if (batch !== undefined) {
        batch.lines.push(line);
        batch.events.push(event);
        if (beside !== undefined) takeBeside(batch, beside);
        return;
      }
      batch = batchOf(event, line);
      if (beside !== undefined) takeBeside(batch, beside);
      later(flush);
    },
    committed(wanted, then) {
      if (lost !== undefined) then(lost);
      else if (wanted <= committedSeq) then();
      else if (waiters.length === 0) waiters = [{ seq: wanted, then }];
      else waiters.push({ seq: wanted, then });
    },
    committedSeq: () => committedSeq,
  };
}
