import type { Json, JsonObject } from '../kernel/json.ts';
import type { Cause } from './event.ts';
import type { GivenTask } from './task-event.ts';

/** The task in hand. */
export interface TaskState {
  readonly given: GivenTask;
  /** Where that stands on the log: what the turns of the task come from. */
  readonly place: Cause;
  /** The turn that was the last when it was given: what came before belongs to other tasks. */
  readonly since: number;
  /** Requests to the model that ended well since. */
  turns: number;
  /** How many reports there were, and the one that has no answer yet. */
  reports: number;
  open?: OpenReport;
  /** Where the last report stands on the log. */
  reported?: Cause;
  /** The turn that the last of them was made of. */
  reportedIn?: number;
  /** Whether the agent was told that it does not come further. */
  warned: boolean;
  /** What was called with what, and how often since it was given, or since somebody had a word about it. */
  tried: TriedAction[];
  /** Whether something new came in the turn in hand, and in how many turns in a row before it nothing did. */
  fresh: boolean;
  barren: number;
}

export interface TriedAction {
  readonly id: string;
  /** What was called and with what, cut to a bounded size. */
  readonly what: string;
  times: number;
}

export type OpenReport =
  | {
      readonly kind: 'claimed';
      readonly nth: number;
      readonly notes: string;
      readonly context_updates: JsonObject;
      readonly artifacts: readonly Json[];
      readonly evidence: readonly string[];
    }
  | { readonly kind: 'stuck'; readonly nth: number; readonly why: string }
  | { readonly kind: 'turn'; readonly nth: number };
