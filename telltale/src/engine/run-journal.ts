import type { Cause } from '../events/event.ts';
import type { RunEvent, RunEventBody } from '../events/run-event.ts';
import type { RunState } from '../events/run-state.ts';
import type { TableWrite } from '../store/store.ts';

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
  /** Whether another process may have taken the log meanwhile: then nothing begins before `flushed`. Absent where nobody can. */
  readonly mayBeLost?: (() => boolean) | undefined;
  /** The last event that is committed. */
  committedSeq(): number;
  /** Each event after its commit. The returned function ends it. */
  subscribe(listener: (event: RunEvent) => void): () => void;
  /** From here on nothing is folded or written. */
  seal(): void;
}
