import type { RunJournal } from '../../engine/run-journal.ts';
import type { Cause } from '../../events/event.ts';
import type { RunEventBody } from '../../events/run-event.ts';
import type { RunState } from '../../events/run-state.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { RunAhead } from '../../kernel/run-ahead.ts';
import type { ErrorJson } from '../../kernel/runtime-error.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import type { Decisions } from '../decisions.ts';
import type { Leaves } from '../leaf.ts';
import type { Locals, Scope } from '../scope.ts';
import type { Branch } from './branch.ts';
import type { Occupancy } from './occupancy.ts';
import type { ListOutcome } from './outcome.ts';

/** Thrown through everything once the run is let go of: nothing more may be written. */
export const LET_GO: unique symbol = Symbol('let go');

/** What the parts of the machine share: one walk through a workflow, with the log as its memory. */
export interface Walk {
  readonly workflow: WorkflowManifest;
  readonly state: RunState;
  readonly journal: RunJournal;
  readonly leaves: Leaves;
  readonly decisions: Decisions;
  readonly scope: Scope;
  readonly clock: Clock;
  readonly random: () => number;
  readonly occupancy: Occupancy;
  /** Tries of steps that began before their start was committed. */
  readonly ahead: RunAhead;
  /** Whether the run was let go of. */
  readonly letGo: boolean;
  /** Throws LET_GO once the run is let go of. */
  write(body: RunEventBody, cause?: Cause): Cause;
  /** Ends the whole run with an error that no step can handle. */
  fail(error: ErrorJson): void;
  /** Something broke that is no failure of a step: lets go of the run, and ends with it. */
  crash(thrown: unknown): void;
  /** Records as cancelled what the log shows as begun inside of `address` and this walk has not come to, inner before outer. */
  sweep(address: string, reason: string): void;
  list(steps: readonly Step[], place: Place): Promise<ListOutcome>;
}

/** Where a list of steps stands. */
export interface Place {
  /** What its addresses begin with: empty, or with a slash at its end. */
  readonly prefix: string;
  readonly locals: Locals;
  readonly branch: Branch;
  readonly depth: number;
  /** The step or state around it. */
  readonly cause: Cause | undefined;
  readonly visit: StateVisit | undefined;
  /** The run has gone on from here by the log: what an accepted change adds to the list comes too late. */
  readonly isOver?: boolean;
}

/** One time that a state is in hand; a `transition` step that ran has chosen. */
export interface StateVisit {
  chosen?: { readonly state: string; readonly step: string; readonly seq: number };
}

/** Whether the log has a step of this list. */
export const hasBegun = (
  { state }: Pick<Walk, 'state'>,
  steps: readonly Step[] | undefined,
  prefix: string,
): boolean => steps?.some(({ name }) => state.steps.has(prefix + name)) === true;

/** Of a step that was not begun because what is around it was stopped. */
export const notBegun = (branch: Branch): ListOutcome => ({
  kind: 'cancelled',
  reason: branch.stopped ?? 'cancelled',
  seq: 0,
});
