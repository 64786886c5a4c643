import type { ReviewAnswer } from '../../events/review-event.ts';
import type { Review } from '../../events/state.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ClearCall } from '../../scheduler/edges.ts';
import type { Approve, Need, Target } from '../../targets/target.ts';
import type { SessionLog } from '../session-log.ts';

/** What is decided of a review, by whom. */
export interface Decided {
  readonly answer: ReviewAnswer;
  readonly by: string;
  readonly note?: string;
  /** For the rest of the session. Dropped where the question does not offer that. */
  readonly always?: boolean | undefined;
  /** The review that was approved for the rest of the session, where this answer follows from it. */
  readonly standing?: string;
  readonly key?: string;
}

/** What of an action is asked about, as it would be called now. */
export interface AskedCall extends Omit<ClearCall, 'signal'> {
  readonly target: Pick<Target, 'needs' | 'definition'>;
}

/** Questions to people: put, waited for and closed. Made when there is the first. */
export interface Asking {
  /** Puts a new question. Resolves with its answer: why the action may not start, or undefined where it may. */
  ask(call: AskedCall & ClearCall, need: Need | Promise<Need | undefined>): Promise<RuntimeError | undefined>;
  /** The same of one that was put before: where the call is another by now, a new one takes its place. */
  askAgain(known: Review, call: AskedCall & ClearCall): Promise<RuntimeError | undefined>;
  /** What an approved call was given leave for. Where it is another by now, its approval is void, and this rejects. */
  confirm(known: Review, call: AskedCall): Promise<readonly string[]>;
  /** Puts a decision on the log, with what is consumed by it. False where the review is not open. */
  decide(review: string, decided: Decided, consumed?: readonly number[]): boolean;
  /** Whether a question is being worked out, or asked in this process: something will come of it. */
  isBusy(): boolean;
}

export interface AskingDeps {
  readonly log: SessionLog;
  readonly clock: Clock;
  readonly agent: () => JsonObject;
  /** Asks in this process; without it, whoever answers through the inbox. */
  readonly approve?: Approve | undefined;
  /** Something has changed: the session may have nothing left to do. */
  readonly changed: () => void;
}
