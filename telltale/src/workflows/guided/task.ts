import type { ErrorJson } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { StepAttempt } from '../step-executor.ts';

/** A `task` step as its worker gets it. */
export interface Task {
  /** `RUN:ADDRESS#ATTEMPT`: the same after a restart. No model ever sees it. */
  readonly key: string;
  readonly prompt: string;
  /** The variables that `context_updates` must set, with their schemas. */
  readonly requires: Readonly<Record<string, JsonObject>>;
  /** Further variables that it may set, with their schemas. */
  readonly accepts: Readonly<Record<string, JsonObject>>;
  /** Targets that each need a successful call as proof. */
  readonly evidence: readonly string[];
  readonly maxTurns?: number;
  /** Whether each turn is reported, not only the end. */
  readonly judgesTurns: boolean;
  /** Whether a verifier or a person decides on its completion. */
  readonly checked?: true;
}

/** An action for a task as a verifier sees it. Long values are truncated. */
export interface WorkedAction {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly input: Json;
  readonly output: Json;
}

/** A worker's claim. */
export interface ClaimedWork {
  readonly notes: string;
  readonly context_updates: JsonObject;
  readonly artifacts: readonly Json[];
  /** Ids of the actions that prove it. */
  readonly evidence: readonly string[];
}

export interface Claim extends ClaimedWork {
  /** The number of the report within the task, from 1. An answer refers to it. */
  readonly nth: number;
  /** The session or client that worked on it. */
  readonly by: string;
  /** Model requests since the task was assigned. */
  readonly turns: number;
  readonly work: readonly WorkedAction[];
  /** Its position on the session's log. */
  readonly cause?: Cause;
}

/** A report of a worker, which waits for an answer. */
export type TaskReport =
  | ({ readonly kind: 'claimed' } & Claim)
  /** A turn has ended, if `judgesTurns`. */
  | {
      readonly kind: 'turn';
      readonly nth: number;
      readonly by: string;
      readonly turns: number;
      readonly work: readonly WorkedAction[];
      readonly cause?: Cause;
    }
  /** The worker repeats itself or makes no progress, even after a reminder. */
  | {
      readonly kind: 'stuck';
      readonly nth: number;
      readonly by: string;
      readonly turns: number;
      readonly why: string;
      readonly cause?: Cause;
    }
  /** The worker cannot continue: it reached a limit, or its session failed, stalled or was cancelled. */
  | { readonly kind: 'failed'; readonly by: string; readonly error: ErrorJson };

/** The answer to a report. The end of the step needs none. */
export type TaskReply =
  /** The work has to be improved. `by`: a verifier or a person. */
  { readonly kind: 'again'; readonly text: string; readonly by: string } | { readonly kind: 'go_on' };

export interface WorkerCall {
  /** The agent's name. Without it, the guided or triggering agent works on the task. */
  readonly agent: string | undefined;
  /** The step's address. */
  readonly step: string;
  readonly signal: AbortSignal;
  readonly cause: Cause;
  readonly suspend: StepAttempt['suspend'];
}

/** Assigns tasks to workers. A task that was assigned before, also by another process, continues. */
export interface TaskWorkers {
  /** Assigns a task and resolves with the first unanswered report. Rejects with the signal's reason. */
  give(task: Task, call: WorkerCall): Promise<TaskReport>;
  /** Answers the report `nth`, once for repeated calls, and resolves with the next report. */
  answer(task: Task, nth: number, word: TaskReply, call: WorkerCall): Promise<TaskReport>;
  /** The step has ended, so its worker is free. */
  done?(task: Task): void;
}
