import type { SessionResult } from '../../agent/runtime-types.ts';
import type { ObservedEvent } from '../../log/event.ts';
import type { RunEvent } from '../../log/run-event.ts';
import type { Times } from '../view/closing-lines.ts';
import type { RootCause } from '../view/root-cause.ts';

/** Where the events of a run go. */
export interface RunView {
  /** Resolves when the reader can take more. */
  show(event: ObservedEvent): Promise<void>;
  /** Takes in an event that is not shown: it has been seen before, and what follows may be about it. */
  recall(event: ObservedEvent): void;
  /** An event of a workflow run that the session set off, where somebody wants to see those. */
  note(event: RunEvent): Promise<void>;
  /** An event of the run that leads the session, about a step that is the run's own. */
  lead(event: RunEvent): Promise<void>;
  /** It is under way, and its first event may take its time: said where there is a line for it. */
  waits?(): void;
  /** A turn is being broken off, which may take seconds: said until the session goes on, where there is a line for it. */
  breaksOff?(): void;
  /** After the last event. */
  end(result: SessionResult, times: Times, rootCause?: RootCause): Promise<void>;
  /** Ends it where there is no result to show. */
  leave(): Promise<void>;
  /**
   * The line that a person types, where there is a place to show it; undefined where nothing can be typed. `isWaited`: a
   * question waits until it is sent.
   */
  typed?(draft: string | undefined, isWaited: boolean): void;
  /** A line for the person at the terminal, about what they typed. */
  tell?(text: string): void;
  /**
   * Leaves the terminal to `ask` while it lasts. A question waits until no line is half typed; a prompt for a message goes
   * on with that line.
   */
  aside<T>(ask: (draft: string) => Promise<T>, kind?: 'message'): Promise<T>;
}
