import type { ErrorJson } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { StepAttempt } from '../step-executor.ts';

/** A `task` step as it is given to who works on it. */
export interface Task {
  /** `RUN:ADDRESS#ATTEMPT`: the same after a restart. No model ever sees it. */
  readonly key: string;
  readonly prompt: string;
  /** What `context_updates` must bring, each with its schema. */
  readonly requires: Readonly<Record<string, JsonObject>>;
  /** What it may bring beside that: the workflow's variables that a model may write, each with its schema. */
  readonly accepts: Readonly<Record<string, JsonObject>>;
  /** Targets of which a successful call has to be named as proof, one of each. */
  readonly evidence: readonly string[];
  readonly maxTurns?: number;
  /** Whether each turn is reported, not only the end. */
  readonly judgesTurns: boolean;
  /** Whether a verifier or a person decides on its completion. */
  readonly checked?: true;
}

/** What was done for a task, as a verifier sees it; long values are cut. */
export interface WorkedAction {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly input: Json;
  readonly output: Json;
}

/** What a worker says it has done. */
export interface ClaimedWork {
  readonly notes: string;
  readonly context_updates: JsonObject;
  readonly artifacts: readonly Json[];
  /** Ids of actions that prove it. */
  readonly evidence: readonly string[];
}

export interface Claim extends ClaimedWork {
  /** Counts the reports of this task from 1 on, claims and others: an answer is to one of them. */
  readonly nth: number;
  /** The session, or the client, that worked on it. */
  readonly by: string;
  /** Requests to the model since it was given: what the step took. */
  readonly turns: number;
  readonly work: readonly WorkedAction[];
  /** Where it stands on the log of the session that says so. */
  readonly cause?: Cause;
}

/** What comes back from a worker. It waits for an answer to each. */
export type TaskReport =
  | ({ readonly kind: 'claimed' } & Claim)
  /** A turn is over, where `judgesTurns`. */
  | {
      readonly kind: 'turn';
      readonly nth: number;
      readonly by: string;
      readonly turns: number;
      readonly work: readonly WorkedAction[];
      readonly cause?: Cause;
    }
  /** It repeats itself or changes nothing, also after it was told. */
  | {
      readonly kind: 'stuck';
      readonly nth: number;
      readonly by: string;
      readonly turns: number;
      readonly why: string;
      readonly cause?: Cause;
    }
  /** It cannot go on: a limit was reached, its session failed, stalled or was cancelled. */
  | { readonly kind: 'failed'; readonly by: string; readonly error: ErrorJson };

/** The answer to a report, but for the end of the step: that needs none. */
export type TaskReply =
  /** To be done again, or better. `by`: a verifier or a person. */
  { readonly kind: 'again'; readonly text: string; readonly by: string } | { readonly kind: 'go_on' };

export interface WorkerCall {
  /** The agent by name; the bound or triggering one where it is absent. */
  readonly agent: string | undefined;
  /** The step's address. */
  readonly step: string;
  readonly signal: AbortSignal;
  readonly cause: Cause;
  readonly suspend: StepAttempt['suspend'];
}

/** Who works on tasks. A task that was given before, also by another process, is gone on with. */
export interface TaskWorkers {
  /** Resolves with the first report that has no answer yet. Rejects with the signal's reason. */
  give(task: Task, call: WorkerCall): Promise<TaskReport>;
  /** Answers the report `nth`, once, however often it is called, and resolves with the next. */
  answer(task: Task, nth: number, word: TaskReply, call: WorkerCall): Promise<TaskReport>;
  /** The step is over, in whatever way: its worker is free for others. */
  done?(task: Task): void;
}
