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
  /** The writer of the run's stream. */
  readonly writer: StreamWriter;
  /** The state after all events so far. The journal owns it from here on. */
  readonly state: RunState;
  readonly clock: Clock;
  /** The stream's status in the store, if known. */
  readonly writtenStatus?: string | undefined;
  /**
   * Called once when the stream was lost to another writer or cannot be written. Work on the run must stop.
   */
  readonly onLost: (error: RuntimeError) => void;
  /** Whether another process may have taken the stream. Absent if that is impossible. */
  readonly mayBeLost?: (() => boolean) | undefined;
  /**
   * Called with `append:TYPE` before an event is passed to the store, and `committed:TYPE` after its commit.
   */
  readonly crashPoint?: ((name: string) => void) | undefined;
  /**
   * Set if the writer does not continue the run. A waiting run then becomes due, because the process that
   * should continue it may die.
   */
  readonly forOthers?: true;
  /** The status that the stream keeps regardless of new events. */
  readonly keepsStatus?: string;
  /** Watchers of everything that the runtime works on. */
  readonly watchers?: ReadonlySet<(event: RunEvent) => void> | undefined;
}

/** Due on every clock. */
const LONG_AGO = 0;

/** The journal of a run on a store. After `seal` or a lost stream nothing is folded or written. */
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
    // For a client's run, a claim and everything that follows from it up to the next question is one commit.
    // The first event is in the commit that creates the stream.
    later({ seq, origin }, flush) {
      if (seq === 1) queueMicrotask(flush);
      else if (origin.client !== undefined) setImmediate(flush);
      // The end of a step and the start of the next one, a microtask later, are one append.
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

/** Other writes in the transaction of an event. */
export interface BesideRun {
  /** Messages of the run's inbox that the event consumes. */
  readonly consumed?: readonly number[];
  readonly writes?: readonly TableWrite[];
}

/** The log of a run that this process works on. All changes of the run go through it. */
export interface RunJournal {
  readonly state: RunState;
  /** Folds the event at once, writes it in order, and returns its position. */
  append(body: RunEventBody, cause?: Cause, beside?: BesideRun): Cause;
  /** Resolves once everything appended so far is committed. Rejects if that is impossible. */
  flushed(): Promise<void>;
  /** The last committed event. */
  committedSeq(): number;
  /**
   * Whether another process may have taken the log. Then nothing starts before `flushed`. Absent if that is
   * impossible.
   */
  readonly mayBeLost?: (() => boolean) | undefined;
  /** Called with each event after its commit. The returned function unsubscribes. */
  subscribe(listener: (event: RunEvent) => void): () => void;
  /** Stops all folding and writing. */
  seal(): void;
}
