import type { RunJournal } from '../../engine/run-log.ts';
import { readWholeReference } from '../../expressions/references/reference.ts';
import { parseTemplate } from '../../expressions/templates/parse-template.ts';
import { resolveTemplate } from '../../expressions/templates/resolve-template.ts';
import { readPath } from '../../expressions/values.ts';
import type { Clock, RunAhead } from '../../lib/clock.ts';
import type { ErrorJson } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { RunEventBody } from '../../log/run-event.ts';
import type { RunState, StepState } from '../../log/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { ForeachStep, Step } from '../../manifest/schema/steps/step.ts';
import type { Locals, Scope } from '../scope.ts';
import type { Decisions, StepExecutors } from '../step-executor.ts';
import type { StepOf } from '../steps/step-deps.ts';
import { allSteps } from './composite.ts';
import { listTooLong, listUnknown, MAX_FOREACH_ITEMS, notAList } from './failures.ts';

/** The items of a started `foreach`, which do not change afterwards. Undefined if it has not started. */
export function itemsOnLog(known: StepState | undefined, step: ForeachStep): readonly Json[] | undefined {
  const items = known?.input?.items;
  if (Array.isArray(items)) return items as readonly Json[];
  return known !== undefined && Array.isArray(step.in) ? (step.in as readonly Json[]) : undefined;
}

/**
 * The items of a `foreach`. An agent is asked for them if the list is not set and an agent may set it.
 * `list_items`, below the step, is then a task like any other. It fails the step only if it fails itself.
 */
export async function itemsSet(
  walk: Walk,
  step: ForeachStep,
  address: string,
  place: ListContext,
): Promise<readonly Json[]> {
  const { locals } = place;
  const asked = walk.state.steps.has(`${address}/${ASKED}`)
    ? variableOf(step)
    : listToAskFor(walk, step, locals);
  if (asked !== undefined) {
    const inner = { ...place, prefix: `${address}/`, depth: place.depth + 1 };
    const ended = await walk.list([taskFor(walk, asked)], inner);
    if (ended.kind === 'failed') throw listUnknown(address, String(step.in), ended.error.message);
    if (place.branch.stopped !== undefined) return [];
  }
  return itemsOf(walk, step, address, locals);
}

const ASKED = 'list_items';

/** The variable if the list is a whole variable: `$name` or `${vars.name}`. */
function variableOf({ in: source }: ForeachStep): string | undefined {
  if (typeof source !== 'string') return undefined;
  const plain = readWholeReference(source);
  if (plain !== undefined) return plain.path.length === 0 ? plain.name : undefined;
  return /^\$\{\s*vars\.([A-Za-z_][A-Za-z0-9_]*)\s*\}$/.exec(source)?.[1];
}

function listToAskFor({ workflow, state }: Walk, step: ForeachStep, locals: Locals): string | undefined {
  const name = variableOf(step);
  if (name === undefined || Array.isArray(state.variables.get(name))) return undefined;
  const tasks = allSteps(workflow).filter((each) => each.type === 'task');
  if (tasks.length === 0) return undefined;
  const isOther = String(step.in).startsWith('${')
    ? false
    : Object.hasOwn(locals, name) || state.outputs.has(name);
  const declared = workflow.context_variables.runtime.find((each) => each.name === name);
  const isForModels =
    declared === undefined
      ? tasks.some(({ requires }) => Object.hasOwn(requires, name))
      : declared.writers.includes('model');
  return isOther || !isForModels ? undefined : name;
}

const taskFor = ({ workflow, state }: Walk, name: string): StepOf<'task'> => {
  const { description } = workflow.context_variables.runtime.find((each) => each.name === name) ?? {};
  const what = description === undefined ? '' : ` (${description})`;
  const now = state.variables.get(name) ?? null;
  return {
    name: ASKED,
    type: 'task',
    prompt: `What comes next is done once for each item of the list "${name}"${what}, but ${now === null ? 'nobody has set it' : `its value is ${nameOf(now)}, not a list`}. Say which items there are: complete this step with "${name}" in context_updates. If there is nothing to do, the list is empty.`,
    requires: { [name]: { type: 'array' } },
    evidence: [],
    fragments: [],
  };
};

/** The current items. They are `step.in` itself if it has no references. Rejects with `bad_list`. */
export async function itemsOf(
  walk: Walk,
  step: ForeachStep,
  address: string,
  locals: Locals,
): Promise<readonly Json[]> {
  const source = step.in as Json;
  const shown = typeof source === 'string' ? source : '[…]';
  const given = JSON.stringify(source).includes('$')
    ? await resolve(walk, source, address, shown, locals)
    : source;
  if (!Array.isArray(given)) throw notAList(address, shown, nameOf(given));
  const found = step.max === undefined || given.length <= step.max ? given : given.slice(0, step.max);
  if (found.length > MAX_FOREACH_ITEMS) throw listTooLong(address, found.length);
  return found as readonly Json[];
}

async function resolve(
  walk: Walk,
  source: Json,
  address: string,
  shown: string,
  locals: Locals,
): Promise<Json> {
  const plain = typeof source === 'string' ? readWholeReference(source) : undefined;
  if (plain !== undefined) {
    const value =
      locals[plain.name] ?? walk.state.outputs.get(plain.name) ?? walk.state.variables.get(plain.name);
    const found = value === undefined ? undefined : readPath(value, plain.path);
    if (found === undefined)
      throw listUnknown(address, shown, 'it names nothing.', 'Name a step, an output_key or a variable.');
    return found as Json;
  }
  const scope = await walk.scope.forTemplate(source, locals, address);
  return fill(
    source,
    scope,
    (problem, hint) => listUnknown(address, shown, problem, hint),
    Object.keys(locals),
  );
}

function fill(
  value: Json,
  scope: JsonObject,
  problem: (message: string, hint?: string) => Error,
  names: readonly string[],
): Json {
  if (typeof value === 'string') {
    if (!value.includes('${')) return value;
    const template = parseTemplate(value, { names });
    if (!template.ok)
      throw problem(template.error[0]?.message ?? 'it cannot be read.', template.error[0]?.hint);
    const filled = resolveTemplate(template.value, scope);
    if (!filled.ok) throw problem(filled.error.message, filled.error.hint);
    return filled.value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => fill(item, scope, problem, names));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, fill(item as Json, scope, problem, names)]),
  );
}

const nameOf = (value: Json): string =>
  value === null ? 'null' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;

/** Thrown once the run is released. Nothing more may be written. */
export const RELEASED: unique symbol = Symbol('let go');

/** The shared state of one walk through a workflow. */
export interface Walk {
  readonly workflow: WorkflowManifest;
  readonly state: RunState;
  readonly journal: RunJournal;
  readonly executors: StepExecutors;
  readonly decisions: Decisions;
  readonly scope: Scope;
  readonly clock: Clock;
  readonly random: () => number;
  readonly activity: ActivityCounter;
  /** Attempts that started before their `step.started` was committed. */
  readonly ahead: RunAhead;
  /** Whether the run was released. */
  readonly isReleased: boolean;
  /** Throws RELEASED once the run is released. */
  write(body: RunEventBody, cause?: Cause): Cause;
  /** Ends the whole run with an error that no step can handle. */
  fail(error: ErrorJson): void;
  /** Handles an error that is not a failure of a step: releases the run and ends the walk with it. */
  crash(thrown: unknown): void;
  /**
   * Records steps inside `address` as cancelled that are open on the log and that this walk has not reached,
   * inner before outer.
   */
  sweep(address: string, reason: string): void;
  list(steps: readonly Step[], place: ListContext): Promise<ListOutcome>;
}

/** The context of a list of steps. */
export interface ListContext {
  /** The prefix of its addresses: empty, or ending with a slash. */
  readonly prefix: string;
  readonly locals: Locals;
  readonly branch: Branch;
  readonly depth: number;
  /** The surrounding step or state. */
  readonly cause: Cause | undefined;
  readonly visit: StateVisit | undefined;
  /**
   * Set if the run has moved past this list by its log, so that steps added by an accepted change come too
   * late.
   */
  readonly isOver?: boolean;
}

/** One visit of a state, with the choice of a `transition` step. */
export interface StateVisit {
  chosen?: { readonly state: string; readonly step: string; readonly seq: number };
}

/** Whether the log has a step of this list. */
export const hasBegun = (
  { state }: Pick<Walk, 'state'>,
  steps: readonly Step[] | undefined,
  prefix: string,
): boolean => steps?.some(({ name }) => state.steps.has(prefix + name)) === true;

/** The outcome of a step that did not start because its branch was stopped. */
export const notBegun = (branch: Branch): ListOutcome => ({
  kind: 'cancelled',
  reason: branch.stopped ?? 'cancelled',
  seq: 0,
});

/** What a run waits for when it has nothing else to do. */
export interface Waits {
  readonly for: string;
  /** When it continues at the latest. Absent if only a message helps. */
  readonly due?: number;
}

/** Counts active sequences of steps. Once all of them are suspended, `onQuiet` is called. */
export interface ActivityCounter {
  /** Adds to the count of active sequences, or subtracts from it. */
  add(places: number): void;
  /** Suspends one sequence. The returned function resumes it, once. */
  suspend(waits: Waits): () => void;
}

const MAX_NAMED = 3;

export function createActivityCounter(onQuiet: (waits: Waits) => void): ActivityCounter {
  let busy = 1;
  const suspended = new Set<Waits>();
  const check = () => {
    if (busy !== 0 || suspended.size === 0) return;
    // A sequence that has just got its answer continues in a queued microtask.
    queueMicrotask(() => {
      if (busy === 0 && suspended.size > 0) onQuiet(together([...suspended]));
    });
  };
  return {
    add(places) {
      busy += places;
      check();
    },
    suspend(waits) {
      suspended.add(waits);
      busy--;
      check();
      return () => {
        if (suspended.delete(waits)) busy++;
      };
    },
  };
}

function together(suspended: readonly Waits[]): Waits {
  const names = [...new Set(suspended.map((each) => each.for))];
  const dues = suspended.flatMap(({ due }) => (due === undefined ? [] : [due]));
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return {
    for: names.slice(0, MAX_NAMED).join(', ') + more,
    ...(dues.length === 0 ? {} : { due: Math.min(...dues) }),
  };
}

/** Steps that are stopped together: the whole run, or the inner steps of one step. */
export interface Branch {
  /** Why it was stopped; undefined while it runs. */
  readonly stopped: string | undefined;
  /** Its own deadline or that of a surrounding branch, whichever comes first. */
  readonly deadline: number | undefined;
  /** Stops it and its inner branches, once. The first reason counts. */
  stop(reason: string): void;
  /** Calls back when it is stopped, at once if it is already. The returned function unsubscribes. */
  onStop(listener: (reason: string) => void): () => void;
  /** Unsubscribes from the surrounding branch. */
  close(): void;
}

export function createBranch(around?: Branch, ownDeadline?: number): Branch {
  const listeners: ((reason: string) => void)[] = [];
  const outer = around?.deadline;
  const deadline =
    ownDeadline === undefined || (outer !== undefined && outer < ownDeadline) ? outer : ownDeadline;
  let stopped: string | undefined;
  const stop = (reason: string) => {
    if (stopped !== undefined) return;
    stopped = reason;
    for (const listener of listeners.splice(0)) listener(reason);
  };
  const branch: Branch = {
    get stopped() {
      return stopped;
    },
    deadline,
    stop,
    onStop(listener) {
      if (stopped !== undefined) {
        listener(stopped);
        return nothing;
      }
      listeners.push(listener);
      return () => {
        // The last listener usually leaves first.
        const place = listeners.lastIndexOf(listener);
        if (place !== -1) listeners.splice(place, 1);
      };
    },
    close: around === undefined ? nothing : around.onStop(stop),
  };
  return branch;
}

function nothing(): void {
  // the outermost branch has no surrounding branch
}

/**
 * `seq` is the position on the log that decided the outcome. If branches end together, the first on the log
 * counts.
 */
export type ListOutcome =
  | { readonly kind: 'completed'; readonly output: Json; readonly seq: number }
  | { readonly kind: 'failed'; readonly error: ErrorJson; readonly step?: string; readonly seq: number }
  | { readonly kind: 'cancelled'; readonly reason: string; readonly seq: number };

export type StepOutcome =
  | ListOutcome
  | { readonly kind: 'skipped'; readonly reason: string; readonly seq: number };

/** How a step ended by the log. Undefined if it has not. */
export function endOnLog(known: StepState): StepOutcome | undefined {
  const seq = known.endedSeq ?? known.cause.seq;
  switch (known.status) {
    case 'completed':
    case 'compensated':
      return { kind: 'completed', output: known.output ?? null, seq };
    case 'failed':
      return { kind: 'failed', error: known.error ?? unexplained(known.step), step: known.step, seq };
    case 'skipped':
      return { kind: 'skipped', reason: known.reason ?? '', seq };
    case 'cancelled':
      return { kind: 'cancelled', reason: known.reason ?? 'cancelled', seq };
    case 'running':
    case 'retrying':
    case 'interrupted':
      return undefined;
  }
}

const unexplained = (step: string): ErrorJson => ({
  code: 'internal',
  message: `The log holds no error for the failed step "${step}".`,
  retryable: false,
});
