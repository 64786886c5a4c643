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

/** The items of a `foreach` that has begun: what a reference led to then stays. Undefined where it has not. */
export function itemsOnLog(known: StepState | undefined, step: ForeachStep): readonly Json[] | undefined {
  const items = known?.input?.items;
  if (Array.isArray(items)) return items as readonly Json[];
  return known !== undefined && Array.isArray(step.in) ? (step.in as readonly Json[]) : undefined;
}

/**
 * The items, which an agent is asked for where nobody has set the list and an agent may. `list_items`, below the step, is
 * then a task like any other; it fails the step only where it fails itself.
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

/** The variable whose value the list is, whole: `$name` or `${vars.name}`. */
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

/** The items as they are now: `step.in` itself where nothing in it refers to anything. Rejects with `bad_list`. */
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

/** Thrown through everything once the run is let go of: nothing more may be written. */
export const RELEASED: unique symbol = Symbol('let go');

/** What the parts of the machine share: one walk through a workflow, with the log as its memory. */
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
  /** Tries of steps that began before their start was committed. */
  readonly ahead: RunAhead;
  /** Whether the run was let go of. */
  readonly isReleased: boolean;
  /** Throws RELEASED once the run is let go of. */
  write(body: RunEventBody, cause?: Cause): Cause;
  /** Ends the whole run with an error that no step can handle. */
  fail(error: ErrorJson): void;
  /** Something broke that is no failure of a step: lets go of the run, and ends with it. */
  crash(thrown: unknown): void;
  /** Records as cancelled what the log shows as begun inside of `address` and this walk has not come to, inner before outer. */
  sweep(address: string, reason: string): void;
  list(steps: readonly Step[], place: ListContext): Promise<ListOutcome>;
}

/** Where a list of steps stands. */
export interface ListContext {
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

/** What a run waits for when nothing else is to be done. */
export interface Waits {
  readonly for: string;
  /** When something is to be done at the latest; absent where only a message helps. */
  readonly due?: number;
}

/**
 * Counts what is at work: each line of steps that goes on by itself holds one place. Once all have parked, `onQuiet` is
 * called.
 */
export interface ActivityCounter {
  /** Takes so many places more, or gives them back. */
  add(places: number): void;
  /** Gives a place back for as long as there is nothing to do. The returned function takes it again, once. */
  suspend(waits: Waits): () => void;
}

const MAX_NAMED = 3;

export function createActivityCounter(onQuiet: (waits: Waits) => void): ActivityCounter {
  let busy = 1;
  const suspended = new Set<Waits>();
  const check = () => {
    if (busy !== 0 || suspended.size === 0) return;
    // Whoever was parked and has its answer goes on in the microtasks that are queued already.
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

/** What can be stopped together: the whole run, or what runs inside of one step. */
export interface Branch {
  /** Why it was stopped; undefined while it runs. */
  readonly stopped: string | undefined;
  /** When its time is up, or that of what is around it, whichever comes first. */
  readonly deadline: number | undefined;
  /** Stops it and what is inside, once; the first reason counts. */
  stop(reason: string): void;
  /** Calls back when it is stopped, at once where it was. The returned function ends it. */
  onStop(listener: (reason: string) => void): () => void;
  /** Lets go of the branch around it. */
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
        // Whoever came last mostly leaves first, and seldom are there many.
        const place = listeners.lastIndexOf(listener);
        if (place !== -1) listeners.splice(place, 1);
      };
    },
    close: around === undefined ? nothing : around.onStop(stop),
  };
  return branch;
}

function nothing(): void {
  // there is nothing to let go of
}

/** `seq` is the place on the log that decided it: of branches that end together the first on the log counts. */
export type ListOutcome =
  | { readonly kind: 'completed'; readonly output: Json; readonly seq: number }
  | { readonly kind: 'failed'; readonly error: ErrorJson; readonly step?: string; readonly seq: number }
  | { readonly kind: 'cancelled'; readonly reason: string; readonly seq: number };

export type StepOutcome =
  | ListOutcome
  | { readonly kind: 'skipped'; readonly reason: string; readonly seq: number };

/** How a step ended by the log; undefined where it has not. */
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
