import type { ErrorJson } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { SessionAct } from '../../workflows/scope.ts';

/** Kinds of messages in the inbox of a session. */
export const RUN_ASKS = 'run.asks';
export const RUN_ENDED = 'run.ended';
/** The run that leads the session has a task for it, or has ended. It only gets the session resumed. */
export const RUN_WAITS = 'run.waits';

/** Kinds of messages in the inbox of a run. */
export const RUN_CANCEL = 'cancel';
export const RUN_SIGNAL = 'signal';
export const RUN_REVIEW = 'review';
/** What a client sends for a task of the run. */
export const RUN_CLAIM = 'claim';
/** A run that a step called has ended, or waits no more. */
export const RUN_CHILD = 'child';
/** The run's turn has come: its trigger allows only so many at a time. */
export const RUN_TURN = 'turn';

/** What a run asks of its session. */
export interface AskMessage {
  readonly run: string;
  readonly workflow: string;
  readonly key: string;
  readonly act: SessionAct;
  readonly cause: Cause;
}

export type RunEnd =
  | { readonly status: 'completed'; readonly output: Json }
  | { readonly status: 'failed'; readonly error: ErrorJson }
  | { readonly status: 'cancelled'; readonly reason: string };

/** How a run that a trigger of the session started has ended. */
export interface EndMessage {
  readonly run: string;
  readonly workflow: string;
  readonly end: RunEnd;
  /** What its decisions cost. */
  readonly charged: number;
  readonly cause: Cause;
}
