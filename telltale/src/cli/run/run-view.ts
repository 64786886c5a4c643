import type { SessionResult } from '../../agent/runtime-types.ts';
import type { ObservedEvent } from '../../log/event.ts';
import type { RunEvent } from '../../log/run-event.ts';
import type { Times } from '../view/closing-lines.ts';
import type { RootCause } from '../view/root-cause.ts';

/** Shows the events of a run. */
export interface RunView {
  /** Resolves when the reader can take more. */
  show(event: ObservedEvent): Promise<void>;
  /** Takes in an event without showing it, because it was shown before and later events may refer to it. */
  recall(event: ObservedEvent): void;
  /** Shows an event of a workflow run that the session started, if the user asked for those. */
  showRunEvent(event: RunEvent): Promise<void>;
  /** Shows an event of the run that guides the session, about a step that the run itself executes. */
  showGuidingRun(event: RunEvent): Promise<void>;
  /** Says that work has started, because the first event may take a while. Only for views with a status line. */
  showWaiting?(): void;
  /** Says that a turn is being interrupted, which may take seconds. Only for views with a status line. */
  showInterrupting?(): void;
  /** Call it after the last event. */
  end(result: SessionResult, times: Times, rootCause?: RootCause): Promise<void>;
  /** Ends the view when there is no result to show. */
  leave(): Promise<void>;
  /**
   * Shows the line that a person is typing. Undefined means that nothing can be typed. `isWaited`: a question is
   * waiting until the line is sent.
   */
  showTyped?(draft: string | undefined, isWaited: boolean): void;
  /** Shows the person a line about what they typed. */
  showLine?(text: string): void;
  /**
   * Gives the terminal to `ask` until it is done. A question waits until no line is half typed. A prompt for a message
   * continues that line.
   */
  aside<T>(ask: (draft: string) => Promise<T>, kind?: 'message'): Promise<T>;
}
