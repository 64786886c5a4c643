import type { Json } from '../kernel/json.ts';
import type { StepDecision } from './run-event.ts';
import type { StepStatus } from './run-state.ts';

/** What a changed workflow means for one step of a run. */
export interface StepChange {
  /** The path of the step; where it is in doubt, the address of the one time that it began. */
  readonly step: string;
  /**
   * `kept`: the workflow still has it. `new`: it was added. `gone`: it was removed. `in_doubt`: it had begun, had not
   * ended, and was changed, renamed or removed, so that nobody knows whether it took effect.
   */
  readonly change: 'kept' | 'new' | 'gone' | 'in_doubt';
  /** How the log knows it. Absent where it has not begun. */
  readonly status?: StepStatus;
  /** The step that takes its place now. */
  readonly now?: string;
  /** What happens to it when the change is accepted. */
  readonly outcome: string;
  /** What can be decided about it. */
  readonly choices?: readonly StepDecision[];
  readonly decided?: StepDecision;
  /** Whether it is a new step that `run_new` can have run although its place has passed. */
  readonly passed?: true;
}

/** What the workflow as it is now means for a run. */
export interface WorkflowChanges {
  readonly run: string;
  readonly workflow: string;
  /** The manifest of the agent in whose name it runs. */
  readonly manifest: string;
  /** Whether it is another than the run is pinned to. */
  readonly changed: boolean;
  /** Steps of this run and of those that it called, in order. */
  readonly steps: readonly StepChange[];
  /** Steps in doubt that nobody has decided about. */
  readonly undecided: readonly string[];
}

export interface ChangeDecisions {
  /**
   * What becomes of steps in doubt, by address. A step of a run that a step called is `CALLING_STEP:STEP`. A skipped
   * step counts as done with `null`, or with the given output.
   */
  readonly decide?: Readonly<Record<string, StepDecision | { readonly skip: Json }>>;
  /** New steps, by path, that run although their place has passed. */
  readonly run_new?: readonly string[];
}

/** How a run goes on with a workflow that has changed: `true` where nothing has to be decided. */
export type AcceptChanges = boolean | ChangeDecisions;
