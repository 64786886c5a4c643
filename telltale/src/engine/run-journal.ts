import type { Cause } from '../events/event.ts';
import type { RunEvent, RunEventBody } from '../events/run-event.ts';
import type { RunState } from '../events/run-state.ts';

/** The log of a run that this process works on: the one way in which the run changes. */
export interface RunJournal {
  readonly state: RunState;
  /** Folds the event at once, writes it in order behind those before it, and returns its place. */
  append(body: RunEventBody, cause?: Cause): Cause;
  /** Resolves once everything appended so far is committed; rejects where it never will be. */
  flushed(): Promise<void>;
  /** Each event after its commit. The returned function ends it. */
  subscribe(listener: (event: RunEvent) => void): () => void;
  /** From here on nothing is folded or written. */
  seal(): void;
}
