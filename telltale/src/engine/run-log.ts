import type { Clock } from '../lib/clock.ts';
import { type RuntimeError, tellAll } from '../lib/errors.ts';
import type { Cause } from '../log/event.ts';
import { reduceRun } from '../log/reduce-run.ts';
import { encodeRunEvent } from '../log/run-codec.ts';
import type { RunEvent, RunEventBody } from '../log/run-event.ts';
import type { RunState } from '../log/run-state.ts';
import type { StreamWriter, TableWrite } from '../store/store.ts';
import {
  addToBatch,
  type BatchCalls,
  committedThrough,
  createStreamBatches,
} from '../store/stream-batches.ts';

export interface RunLogDeps {
  /** Of the run's own stream. */
  readonly writer: StreamWriter;
  /** What the stream's events so far amount to; the log owns it from here on. */
  readonly state: RunState;
  readonly clock: Clock;
  /** What the store has as the stream's status, where that is known. */
  readonly writtenStatus?: string | undefined;
  /** The stream was lost to another writer, or cannot be written. Called once: whoever works on the run stops. */
  readonly onLost: (error: RuntimeError) => void;
  /** Whether another process may have taken the stream meanwhile; absent where nobody else can. */
  readonly mayBeLost?: (() => boolean) | undefined;
  /** Told `append:TYPE` before an event is handed to the store, and `committed:TYPE` after its commit. */
  readonly crashPoint?: ((name: string) => void) | undefined;
  /**
   * Whoever writes does not go on with the run: a run that waits is due with what is written. Else it would wait for
   * ever where the process dies that was to go on with it.
   */
  readonly forOthers?: true;
  /** The status that the stream keeps, whatever is written. */
  readonly keepsStatus?: string;
  /** Who watches all that the runtime works on. */
  readonly watchers?: ReadonlySet<(event: RunEvent) => void> | undefined;
}

/** Due by anybody's clock. */
const LONG_AGO = 0;

/** The journal of a run on a store. What comes after a seal or a lost stream is neither folded nor written. */
export function createRunLog({
  writer,
  state,
  clock,
  writtenStatus,
  onLost,
  mayBeLost,
  crashPoint,
  forOthers,
  keepsStatus,
  watchers,
}: RunLogDeps): RunJournal {
  const run = writer.stream;
  const beginning: Cause = { stream: run, seq: 0, depth: 0 };
  const listeners = new Set<(event: RunEvent) => void>();
  let sealed = false;

  const publish = (events: readonly RunEvent[]) => {
    for (const event of events) {
      crashPoint?.(`committed:${event.type}`);
      tellAll(listeners, event);
    }
  };

  const calls: BatchCalls<RunState, RunEvent> = {
    status: ({ status }) => keepsStatus ?? status,
    due({ status, waiting }) {
      if (status !== 'waiting' || keepsStatus !== undefined) return undefined;
      return forOthers === true ? LONG_AGO : waiting?.due;
    },
    // A claim of a client and all that follows from it at once, up to the next question, is one commit. Its first
    // event is one with the stream.
    later({ seq, origin }, flush) {
      if (seq === 1) queueMicrotask(flush);
      else if (origin.client !== undefined) setImmediate(flush);
      // The end of a step and the beginning of the next, a microtask later, are one append.
      else queueMicrotask(() => queueMicrotask(flush));
    },
    onCommitted(_state, _through, events) {
      if (listeners.size > 0 || crashPoint !== undefined) publish(events);
      if (watchers !== undefined && watchers.size > 0) for (const event of events) tellAll(watchers, event);
    },
    onLost(_state, error) {
      sealed = true;
      onLost(error);
    },
  };
  const batches = createStreamBatches<RunState, RunEvent>({
    owner: state,
    calls,
    writer,
    seq: state.seq,
    writtenStatus,
    crashPoint,
  });

  return {
    state,
    append(body, cause, beside) {
      const from = cause ?? (state.seq === 0 ? beginning : state.started);
      const seq = state.seq + 1;
      const place: Cause = { stream: run, seq, depth: from.depth + 1 };
      if (sealed) return place;
      const event: RunEvent = { ...body, seq, at: clock.now(), run, cause: from };
      reduceRun(state, event);
      addToBatch(batches, event, seq, encodeRunEvent(event, body), beside);
      return place;
    },
    flushed: () => committedThrough(batches, state.seq),
    committedSeq: () => batches.lastCommitted,
    mayBeLost,
    subscribe(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    seal() {
      sealed = true;
    },
  };
}

/** What is written in the same transaction as an event. */
export interface BesideRun {
  /** Messages of the run's inbox that the event stands for. */
  readonly consumed?: readonly number[];
  readonly writes?: readonly TableWrite[];
}

/** The log of a run that this process works on: the one way in which the run changes. */
export interface RunJournal {
  readonly state: RunState;
  /** Folds the event at once, writes it in order behind those before it, and returns its place. */
  append(body: RunEventBody, cause?: Cause, beside?: BesideRun): Cause;
  /** Resolves once everything appended so far is committed; rejects where it never will be. */
  flushed(): Promise<void>;
  /** The last event that is committed. */
  committedSeq(): number;
  /** Whether another process may have taken the log meanwhile: then nothing begins before `flushed`. Absent where nobody can. */
  readonly mayBeLost?: (() => boolean) | undefined;
  /** Each event after its commit. The returned function ends it. */
  subscribe(listener: (event: RunEvent) => void): () => void;
  /** From here on nothing is folded or written. */
  seal(): void;
}
