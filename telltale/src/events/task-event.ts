import type { Json, JsonObject } from '../kernel/json.ts';

/** What a run gives an agent to do. */
export interface GivenTask {
  /** Of the run, unique. No prompt ever holds it. */
  readonly task: string;
  readonly prompt: string;
  readonly requires?: Readonly<Record<string, JsonObject>>;
  readonly accepts?: Readonly<Record<string, JsonObject>>;
  readonly evidence?: readonly string[];
  readonly max_turns?: number;
  readonly judged?: true;
  /** Whether a verifier or a person decides on its completion. */
  readonly checked?: true;
}

/** How a session stands with the task that its run has given it. */
export type TaskEventBody =
  | ({ readonly type: 'task.given' } & GivenTask)
  /** The agent says that the task is done: `action` is its `complete_step`. */
  | {
      readonly type: 'task.claimed';
      readonly task: string;
      /** Counts the reports of a task from 1 on: what is answered is one of them. */
      readonly nth: number;
      readonly action: string;
      readonly notes: string;
      readonly context_updates?: JsonObject;
      readonly artifacts?: readonly Json[];
      readonly evidence?: readonly string[];
    }
  /** It repeats itself or changes nothing. Told once to the agent; the second time it is reported as `nth`. */
  | { readonly type: 'task.stuck'; readonly task: string; readonly nth?: number; readonly why: string }
  /** A turn was reported, where each is judged. */
  | { readonly type: 'task.turn'; readonly task: string; readonly nth: number }
  /** The answer to the report `nth`; with `text` the agent goes on with it. */
  | {
      readonly type: 'task.answered';
      readonly task: string;
      readonly nth: number;
      readonly text?: string;
      readonly by: string;
    }
  /** The step has ended: another task follows, or none. */
  | { readonly type: 'task.over'; readonly task: string };
