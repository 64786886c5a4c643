import type { NonIdempotentGuard } from '../../engine/in-flight.ts';
import type { RunJournal } from '../../engine/run-log.ts';
import type { TakeSlot } from '../../engine/slots.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { ReviewAnswer } from '../../log/review-event.ts';
import type { ApprovalRequest } from '../../log/run-event.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { SimpleStep } from '../../manifest/schema/steps/step.ts';
import type { AskText } from '../../tools/llm/llm-targets.ts';
import type { TargetCall, TargetTable } from '../../tools/target.ts';
import type { TargetDeps } from '../../tools/target-deps.ts';
import type { TaskWorkers } from '../guided/task.ts';
import type { RunScope, SessionLink } from '../scope.ts';
import { resolveDeep } from '../scope.ts';
import type { Decisions, HooksOf, PreparedStep, StepAttempt, StepInstance } from '../step-executor.ts';

/** The step's name for messages. */
export const stepWhat = ({ step }: Pick<StepInstance, 'step'>): string => `step "${step.name}"`;

/** A value of the step with its `${…}` resolved. */
export const resolveInStep = (
  value: Json,
  place: StepInstance,
  { scope }: Pick<StepDeps, 'scope'>,
): Promise<Json> =>
  resolveDeep(value, scope, { what: stepWhat(place), locals: place.locals, at: place.address });

/** As `resolveInStep`, for a value that has to be a map; `key` is its name in the manifest. */
export async function resolveMap(
  value: Json,
  key: string,
  place: StepInstance,
  deps: Pick<StepDeps, 'scope'>,
): Promise<JsonObject> {
  const resolved = await resolveInStep(value, place, deps);
  if (isMap(resolved)) return resolved as JsonObject;
  throw noMap(stepWhat(place), key, resolved);
}

const noMap = (what: string, key: string, found: Json) =>
  new RuntimeError('bad_parameters', `"${key}" of ${what} is ${showValue(found)}; it must be a map.`, {
    hint: 'Refer to an object, or write the map itself.',
  });

/** Services that the steps of one run use. */
export interface StepDeps {
  readonly workflow: WorkflowManifest;
  readonly journal: RunJournal;
  readonly clock: Clock;
  readonly scope: RunScope;
  readonly decisions: Decisions;
  /** Everything that the workflow's agent can call. */
  readonly targets: Pick<TargetTable, 'find' | 'all'>;
  /** For programs and scripts. */
  readonly host: Pick<
    TargetDeps,
    'folder' | 'env' | 'permissions' | 'graceMs' | 'confinement' | 'sandbox' | 'clock'
  >;
  /** Sends a prompt to one of the agent's models. */
  readonly ask: AskText;
  /** The cost of a model's usage in dollars. */
  readonly costOf: (...used: Parameters<NonNullable<TargetCall['charge']>>) => number;
  /** The session that the run belongs to, if any. */
  readonly session?: SessionLink | undefined;
  /** Whether this process has released the run, so that the things its steps wait for continue without it. */
  readonly isReleased: () => boolean;
  /** Takes a slot of a target with a limit. */
  readonly takeSlot: TakeSlot;
  /** Registers a call that must not be repeated. Absent if nobody tracks such calls. */
  readonly guardNonIdempotent?: NonIdempotentGuard | undefined;
  readonly runAgent: RunAgent;
  readonly runWorkflow: RunWorkflow;
  readonly reviews: RunReviews;
  /** Work on `task` steps. */
  readonly workers: TaskWorkers;
  /**
   * The targets and the model of another agent that the run's agent may call. Rejects if there is none of
   * that name.
   */
  readonly targetsOf: (agent: string) => Promise<Pick<StepDeps, 'targets' | 'ask'>>;
  /** Hooks for the actions of a plan, which are not steps. */
  readonly hooksOf?: HooksOf | undefined;
}

interface ChildCall {
  /** The id of its stream, the same after a restart, so that it is found again and continues. */
  readonly key: string;
  /** The address of the calling step. */
  readonly step: string;
  readonly signal: AbortSignal;
  readonly cause: Cause;
  /** Suspends the calling step while the called run or session waits. */
  readonly suspend: StepAttempt['suspend'];
}

/** Runs an agent in its own session, or continues that session, and resolves with its result. */
export type RunAgent = (
  call: ChildCall & { readonly agent: string; readonly input: string; readonly vars?: JsonObject },
) => Promise<Json>;

/** Runs a workflow in its own run, or continues that run, and resolves with its output. */
export type RunWorkflow = (
  call: ChildCall & { readonly workflow: string; readonly input: JsonObject },
) => Promise<Json>;

/** The decision on a question. */
export interface ReviewEnd {
  readonly answer: ReviewAnswer;
  readonly choice: string;
  readonly by: string;
  readonly note?: string;
}

/** Questions of a run to people, on its log and in the store's table of open reviews. */
export interface RunReviews {
  /**
   * Appends `review.requested` with its row in the table. The answer arrives on the run's log as
   * `review.resolved`.
   */
  open(request: ApprovalRequest, cause: Cause): void;
  /** Asks a person in this process, if possible. */
  ask?(request: ApprovalRequest, signal: AbortSignal): void;
  /** Appends `review.resolved` and removes the row. Does nothing if the question was answered. */
  close(review: string, end: ReviewEnd): void;
}

/** State that the steps of a run share in this process. */
export interface StepContext extends StepDeps {
  /** Notes that are on the log already. */
  readonly noted: Set<string>;
  /** The log positions of signals that `wait` steps have taken. */
  readonly taken: Set<number>;
}

/** A step of a certain type. */
export type StepOf<Type extends SimpleStep['type']> = Extract<SimpleStep, { readonly type: Type }>;

/** Prepares a step of a certain type. */
export type PrepareStep<Type extends SimpleStep['type']> = (
  step: StepOf<Type>,
  place: StepInstance,
  context: StepContext,
) => Promise<PreparedStep>;
