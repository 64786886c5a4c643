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
import type { TargetDeps } from '../../tools/target-edges.ts';
import type { TaskWorkers } from '../guided/task.ts';
import type { RunScope, SessionLink } from '../scope.ts';
import { resolveDeep } from '../scope.ts';
import type { Decisions, HooksOf, PreparedStep, StepAttempt, StepInstance } from '../step-executor.ts';

/** For messages. */
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

/** What the steps of one run have of the world. */
export interface StepDeps {
  readonly workflow: WorkflowManifest;
  readonly journal: RunJournal;
  readonly clock: Clock;
  readonly scope: RunScope;
  readonly decisions: Decisions;
  /** All that the agent can call, in whose name the workflow runs. */
  readonly targets: Pick<TargetTable, 'find' | 'all'>;
  /** For programs and scripts. */
  readonly host: Pick<
    TargetDeps,
    'folder' | 'env' | 'permissions' | 'graceMs' | 'confinement' | 'sandbox' | 'clock'
  >;
  /** Asks one of the agent's models. */
  readonly ask: AskText;
  /** Dollars for what a model used. */
  readonly costOf: (...used: Parameters<NonNullable<TargetCall['charge']>>) => number;
  /** The session that the run belongs to, where it does. */
  readonly session?: SessionLink | undefined;
  /** Whether this process has let go of the run: then what a step waited for goes on without it. */
  readonly isReleased: () => boolean;
  /** Takes one of the slots of a target that has a limit. */
  readonly takeSlot: TakeSlot;
  /** Begins a call that must not be made twice. Absent where nobody has to know of them. */
  readonly guardNonIdempotent?: NonIdempotentGuard | undefined;
  readonly runAgent: RunAgent;
  readonly runWorkflow: RunWorkflow;
  readonly reviews: RunReviews;
  /** Who works on `task` steps. */
  readonly workers: TaskWorkers;
  /** What another agent, one that the run's agent may call, has to act with. Rejects where there is none of that name. */
  readonly targetsOf: (agent: string) => Promise<Pick<StepDeps, 'targets' | 'ask'>>;
  /** For calls that are no steps: the actions of a plan. */
  readonly hooksOf?: HooksOf | undefined;
}

interface ChildCall {
  /** The id of its stream: the same after a restart, so that it is found again and goes on. */
  readonly key: string;
  /** The address of the step that calls it. */
  readonly step: string;
  readonly signal: AbortSignal;
  readonly cause: Cause;
  /** Of the step: what only waits parks its caller. */
  readonly suspend: StepAttempt['suspend'];
}

/** Runs an agent in a session of its own, from its start or from where its log ends, and gives its result. */
export type RunAgent = (
  call: ChildCall & { readonly agent: string; readonly input: string; readonly vars?: JsonObject },
) => Promise<Json>;

/** Runs a workflow as a run of its own, from its start or from where its log ends, and gives its output. */
export type RunWorkflow = (
  call: ChildCall & { readonly workflow: string; readonly input: JsonObject },
) => Promise<Json>;

/** What is decided of a question. */
export interface ReviewEnd {
  readonly answer: ReviewAnswer;
  readonly choice: string;
  readonly by: string;
  readonly note?: string;
}

/** Questions to people: on the run's log, and in the store's table of those that are open. */
export interface RunReviews {
  /** Appends `review.requested`, with its row in the table. The answer comes onto the run's log as `review.resolved`. */
  open(request: ApprovalRequest, cause: Cause): void;
  /** Puts a question that is open to a person in this process, where there is one to ask. */
  ask?(request: ApprovalRequest, signal: AbortSignal): void;
  /** Appends `review.resolved` and takes the row out. Nothing where it has been answered. */
  close(review: string, end: ReviewEnd): void;
}

/** What the steps of a run know of each other in this process; rebuilt from the log where it matters. */
export interface StepContext extends StepDeps {
  /** Notes that are on the log. */
  readonly noted: Set<string>;
  /** Signals that a wait has taken, by their place on the log. */
  readonly taken: Set<number>;
}

/** The step of a type. */
export type StepOf<Type extends SimpleStep['type']> = Extract<SimpleStep, { readonly type: Type }>;

/** Makes one step ready to begin. */
export type PrepareStep<Type extends SimpleStep['type']> = (
  step: StepOf<Type>,
  place: StepInstance,
  context: StepContext,
) => Promise<PreparedStep>;
