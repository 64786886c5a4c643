import type { RunJournal } from '../../engine/run-log.ts';
import { type Clock, RunAhead } from '../../lib/clock.ts';
import type { ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { stepName } from '../../log/reduce-run.ts';
import type { RunState, StepState } from '../../log/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import { nameOf, pathOf } from '../changes/plan-changes.ts';
import type { Locals, Scope } from '../scope.ts';
import type { BeginUndo, Decisions, StepExecutors, UndoInstance } from '../step-executor.ts';
import { stepsByName } from './composite.ts';
import {
  gotoLimit,
  HELD_WAIT_MS,
  interrupted,
  MAX_GOTO_VISITS,
  needsCycle,
  timedOut,
  undoInterrupted,
} from './failures.ts';
import { attempt } from './run-leaf.ts';
import { runStates } from './run-states.ts';
import { type PrecedingSteps, runStep } from './run-step.ts';
import { skipStep } from './settle-step.ts';
import {
  type Branch,
  createActivityCounter,
  createBranch,
  endOnLog,
  itemsOnLog,
  type ListContext,
  type ListOutcome,
  notBegun,
  RELEASED,
  type StepOutcome,
  type Waits,
  type Walk,
} from './walk.ts';

/**
 * How a walk ended. The owner of the run records the end of the run. The state machine only records steps and
 * states.
 */
export type WalkEnd =
  | { readonly kind: 'completed'; readonly output: Json }
  | { readonly kind: 'failed'; readonly error: ErrorJson; readonly step?: string }
  | { readonly kind: 'cancelled'; readonly reason: string }
  /** Nothing is left to do until a time or a message. Walk again then. */
  | ({ readonly kind: 'parked' } & Waits)
  /** Released by `signal`. Walk again from the log. */
  | { readonly kind: 'stopped' };

export interface MachineOptions {
  readonly workflow: WorkflowManifest;
  readonly journal: RunJournal;
  readonly executors: StepExecutors;
  readonly decisions: Decisions;
  /** Resolves the list of a `foreach`. */
  readonly scope: Scope;
  readonly clock: Clock;
  /** A random number from 0 to below 1, to spread retries. */
  readonly random: () => number;
  /** Releases the run: running steps are aborted and awaited, and nothing more is written. */
  readonly signal: AbortSignal;
  /**
   * Cancels the run: running steps are aborted, awaited and recorded, and completed steps are compensated.
   * Its reason is recorded.
   */
  readonly cancel?: AbortSignal;
  /**
   * Called when all open steps are suspended. `release` (also if absent) ends the walk. `hold` continues
   * until the passed function is called, which must not happen once the run has continued.
   */
  readonly onSuspended?: (waits: Waits, releaseLater: () => void) => 'release' | 'hold';
}

/**
 * Walks a workflow from its beginning with the log as its memory: steps that have ended on the log do not run
 * again. Rejects if the log cannot be written. Failures of steps are results.
 */
export async function runMachine(options: MachineOptions): Promise<WalkEnd> {
  const { workflow, journal, signal, cancel, clock } = options;
  const { state } = journal;
  if (signal.aborted) return { kind: 'stopped' };
  const root = createBranch();
  const released = createBranch();
  let crashed: { readonly thrown: unknown } | undefined;
  let fatal: ErrorJson | undefined;
  let suspended: Waits | undefined;
  const open = new Set<string>();
  for (const known of state.steps.values()) if (endOnLog(known) === undefined) open.add(known.step);

  const release = (reason: string) => {
    released.stop(reason);
    root.stop(reason);
  };
  const walk: Walk = {
    workflow,
    state,
    journal,
    clock,
    executors: options.executors,
    decisions: options.decisions,
    scope: options.scope,
    random: options.random,
    ahead: new RunAhead(),
    activity: createActivityCounter((waits) => {
      if (root.stopped !== undefined) return;
      if (waits.due !== undefined && waits.due - clock.now() <= HELD_WAIT_MS) return;
      const releaseSuspended = () => {
        if (root.stopped !== undefined) return;
        suspended = waits;
        release('the run waits');
      };
      if (options.onSuspended?.(waits, releaseSuspended) !== 'hold') releaseSuspended();
    }),
    get isReleased() {
      return released.stopped !== undefined;
    },
    write(body, cause) {
      if (released.stopped !== undefined) throw RELEASED;
      return journal.append(body, cause);
    },
    fail(error) {
      fatal ??= error;
      root.stop(error.message);
    },
    crash(thrown) {
      if (thrown !== RELEASED) crashed ??= { thrown };
      release('the run cannot go on');
    },
    sweep(address, reason) {
      for (const step of [...open].reverse()) {
        if (address !== '' && !isInside(step, address)) continue;
        open.delete(step);
        const known = state.steps.get(step);
        if (known !== undefined && endOnLog(known) === undefined)
          walk.write({ type: 'step.cancelled', step, reason }, known.cause);
      }
    },
    list: (steps, place) => runList(walk, steps, place),
  };

  const onSignal = () => release('the run is let go of');
  const onCancel = () => root.stop(reasonOf(cancel));
  signal.addEventListener('abort', onSignal, { once: true });
  cancel?.addEventListener('abort', onCancel, { once: true });
  if (cancel?.aborted) onCancel();
  try {
    const failing = state.change?.fails;
    if (failing !== undefined) walk.fail(interrupted(failing).toJSON());
    const end = toEnd(await walkThrough(walk, workflow, root), fatal);
    if (walk.isReleased) throw RELEASED;
    if (end.kind === 'completed') walk.sweep('', 'the run completed without it');
    if (end.kind === 'failed' || end.kind === 'cancelled') {
      walk.sweep('', end.kind === 'failed' ? 'the run failed' : end.reason);
      await undo(walk, workflow, released);
    }
    return end;
  } catch (thrown) {
    if (crashed !== undefined) throw crashed.thrown;
    if (thrown !== RELEASED) throw thrown;
    return suspended === undefined ? { kind: 'stopped' } : { kind: 'parked', ...suspended };
  } finally {
    signal.removeEventListener('abort', onSignal);
    cancel?.removeEventListener('abort', onCancel);
  }
}

function walkThrough(
  walk: Walk,
  workflow: WorkflowManifest,
  branch: ListContext['branch'],
): Promise<ListOutcome> {
  if (branch.stopped !== undefined) return Promise.resolve(notBegun(branch));
  const place: ListContext = { prefix: '', locals: {}, branch, depth: 0, cause: undefined, visit: undefined };
  return workflow.states === undefined
    ? walk.list(workflow.steps ?? [], place)
    : runStates(walk, workflow, workflow.states, place);
}

function toEnd(outcome: ListOutcome, fatal: ErrorJson | undefined): WalkEnd {
  if (fatal !== undefined) return { kind: 'failed', error: fatal };
  switch (outcome.kind) {
    case 'completed':
      return { kind: 'completed', output: outcome.output };
    case 'failed': {
      const { error, step } = outcome;
      return { kind: 'failed', error, ...(step === undefined ? {} : { step }) };
    }
    case 'cancelled':
      return { kind: 'cancelled', reason: outcome.reason };
  }
}

/** `par/build`, `each[2]/build` and `par!2/build` are inside `par` and `each`. `par2` is not. */
const isInside = (step: string, address: string): boolean =>
  step.startsWith(address) && '/[#!'.includes(step[address.length] ?? ' ');

function reasonOf(cancel: AbortSignal | undefined): string {
  const reason: unknown = cancel?.reason;
  if (typeof reason === 'string') return reason;
  return reason instanceof Error && reason.name !== 'AbortError' ? reason.message : 'cancelled';
}

/**
 * Runs a list of steps in order, or as a graph if one of them has `needs`. Its output is that of the last
 * step.
 */
const runList = (walk: Walk, steps: readonly Step[], place: ListContext): Promise<ListOutcome> =>
  steps.some(({ needs }) => needs !== undefined) ? runGraph(walk, steps, place) : inOrder(walk, steps, place);

async function inOrder(walk: Walk, steps: readonly Step[], place: ListContext): Promise<ListOutcome> {
  let output: Json = null;
  let seq = 0;
  let failed: string | undefined;
  let unhandled: { readonly name: string; readonly step: string; readonly error: ErrorJson } | undefined;
  let visits: number[] | undefined; // how often each step was passed before; set after a jump back
  const addressOf = (at: number, name: string) => {
    const before = visits?.[at] ?? 0;
    return before === 0 ? place.prefix + name : `${place.prefix}${name}~${before + 1}`;
  };

  for (let at = 0; at < steps.length; at++) {
    const step = steps[at] as Step;
    const address = addressOf(at, step.name);
    const isPast = () =>
      steps.some((other, index) => index > at && walk.state.steps.has(addressOf(index, other.name)));
    const before = { unhandled: unhandled?.name, failed, reason: 'condition', isPast } as const;
    const outcome = await runStep(walk, step, address, place, before);
    seq = Math.max(seq, outcome.seq);
    if (outcome.kind === 'cancelled') return outcome;
    if (outcome.kind === 'completed') output = outcome.output;
    if (outcome.kind !== 'failed') continue;
    failed ??= step.name;
    const policy = step.on_error ?? 'fail';
    if (policy === 'continue') continue;
    if (policy === 'fail') {
      unhandled ??= { name: step.name, step: address, error: outcome.error };
      continue;
    }
    const target = steps.findIndex(({ name }) => name === policy.goto);
    if (target > at) {
      for (let between = at + 1; between < target; between++) {
        const { name } = steps[between] as Step;
        const skip = { reason: 'goto', because: step.name } as const;
        seq = Math.max(seq, skipStep(walk, addressOf(between, name), place.cause, skip).seq);
      }
    } else {
      visits ??= steps.map(() => 0);
      for (let passed = target; passed <= at; passed++) visits[passed] = (visits[passed] ?? 0) + 1;
      if ((visits[target] ?? 0) >= MAX_GOTO_VISITS) {
        const error = gotoLimit(place.prefix + policy.goto).toJSON();
        return { kind: 'failed', error, step: address, seq };
      }
    }
    at = target - 1;
  }
  if (unhandled === undefined) return { kind: 'completed', output, seq };
  const { step, error } = unhandled;
  return { kind: 'failed', error, step, seq };
}

/**
 * Compensates completed steps, last one first. A step that cannot be compensated is recorded with its error
 * and does not stop the others. After a crash, it continues with steps that the log does not show as
 * compensated. The interrupted one is repeated if that is allowed, and stays ambiguous otherwise.
 */
async function undo(walk: Walk, workflow: WorkflowManifest, released: Branch): Promise<void> {
  const steps = stepsByName(workflow);
  if (![...steps.values()].some(({ compensate }) => compensate !== undefined)) return;
  // A step that ran under an earlier name is compensated as its successor defines.
  const takers = new Map(
    [...(walk.state.change?.replaced ?? [])].map(([taker, was]) => [was, nameOf(taker)] as const),
  );
  const completed: { readonly known: StepState; readonly step: Step }[] = [];
  for (const known of walk.state.steps.values()) {
    const step = steps.get(stepName(known.step)) ?? steps.get(takers.get(pathOf(known.step)) ?? '');
    if (known.status === 'completed' && step?.compensate !== undefined) completed.push({ known, step });
  }
  completed.sort((a, b) => (b.known.endedSeq ?? 0) - (a.known.endedSeq ?? 0));
  for (const { known, step } of completed) {
    if (known.undoing?.repeatable === false) {
      const error = undoInterrupted(known.step).toJSON();
      walk.write({ type: 'step.compensated', step: known.step, error }, known.cause);
      continue;
    }
    const error = await undoOne(
      walk,
      { step, address: known.step, locals: localsAt(walk.state.steps, known.step, steps) },
      known,
      released,
    );
    walk.write(
      { type: 'step.compensated', step: known.step, ...(error === undefined ? {} : { error }) },
      known.cause,
    );
  }
}

/**
 * Compensates one step and returns the error, if any. Its time-out is its own, or else that of its target.
 */
async function undoOne(
  walk: Walk,
  place: UndoInstance,
  known: StepState,
  released: Branch,
): Promise<ErrorJson | undefined> {
  const { address, step } = place;
  const ownMs = step.compensate?.timeout?.ms;
  const branch = createBranch(released);
  let disarm: (() => void) | undefined;
  let late: RuntimeError | undefined;
  const begin: BeginUndo = async (repeatable, timeoutMs) => {
    walk.write({ type: 'step.compensating', step: address, repeatable }, known.cause);
    await walk.journal.flushed(); // includes the reason for the compensation
    if (ownMs !== undefined || timeoutMs === undefined) return;
    disarm = walk.clock.after(timeoutMs, () => {
      late = timedOut(address, timeoutMs);
      branch.stop(late.message);
    });
  };
  const tried = await attempt(walk, {
    address,
    branch,
    timeoutMs: ownMs,
    triedAt: walk.clock.now(),
    maySuspend: false,
    run: (signal) => walk.executors.compensate(place, known.output ?? null, signal, begin).then(() => null),
  });
  disarm?.();
  branch.close();
  if (released.stopped !== undefined && tried.kind === 'stopped') throw RELEASED;
  return (tried.kind === 'failed' ? tried.error : tried.kind === 'stopped' ? late : undefined)?.toJSON();
}

type StepStates = RunState['steps'];

/** A part of an address: `each~2!3[0]`, `guarded!2`. */
const PASSED = /^([^~!#@[\]]+)(~\d+)?(?:!\d+)?(?:\[(\d+)\])?$/;
const NAME = /^[^~!#@[\]/]*/;

/**
 * The locals of a step by the log: the items of surrounding `foreach` steps, and the error inside a `catch`.
 */
function localsAt(known: StepStates, address: string, steps: ReadonlyMap<string, Step>): Locals {
  const locals: Record<string, Json> = {};
  let at = 0;
  for (let slash = address.indexOf('/'); slash !== -1; slash = address.indexOf('/', at)) {
    const [, name = '', visit = '', index] = PASSED.exec(address.slice(at, slash)) ?? [];
    const step = steps.get(name);
    const before = address.slice(0, at);
    at = slash + 1;
    if (step?.type === 'foreach') {
      const items = itemsOnLog(known.get(before + name + visit), step);
      locals[step.as] = items?.[Number(index)] ?? null;
    }
    if (step?.type === 'try' && isIn(step.catch, address.slice(at))) {
      const error = failureOf(known, step.body, address.slice(0, at))?.error;
      if (error !== undefined) locals.error = error as unknown as Json;
    }
  }
  return locals;
}

const isIn = (list: readonly Step[] | undefined, rest: string): boolean => {
  const [name] = NAME.exec(rest) ?? [];
  return list?.some((step) => step.name === name) === true;
};

/** The failure of a list: the first by order in a graph, otherwise the first by time. */
function failureOf(known: StepStates, list: readonly Step[], prefix: string): StepState | undefined {
  const failed = list.flatMap(({ name }) => visitsOf(known, prefix + name));
  const isGraph = list.some(({ needs }) => needs !== undefined);
  return isGraph ? failed[0] : failed.sort((a, b) => (a.endedSeq ?? 0) - (b.endedSeq ?? 0))[0];
}

/** The executions of a step with unhandled failures. */
function visitsOf(known: StepStates, address: string): readonly StepState[] {
  const failed: StepState[] = [];
  let visit = 1;
  for (let state = known.get(address); state !== undefined; state = known.get(`${address}~${++visit}`))
    if (state.status === 'failed' && state.policy === 'fail') failed.push(state);
  return failed;
}

/**
 * Runs a list as a graph: a step starts once all steps that it needs have ended. An unhandled failure skips
 * dependent steps and lets others continue. The list then fails with the first failure by order. A step named
 * by `goto` treats the failure as success, and other dependents are skipped.
 */
async function runGraph(walk: Walk, steps: readonly Step[], place: ListContext): Promise<ListOutcome> {
  const outcomes = await runNodes(walk, steps, place);
  let output: Json = null;
  let seq = 0;
  let failure: ListOutcome | undefined;
  for (const [at, outcome] of outcomes.entries()) {
    if (outcome === undefined) continue;
    seq = Math.max(seq, outcome.seq);
    if (outcome.kind === 'cancelled') return outcome;
    if (outcome.kind === 'completed') output = outcome.output;
    if (outcome.kind === 'failed' && (steps[at]?.on_error ?? 'fail') === 'fail') failure ??= outcome;
  }
  const stuck = steps.filter((_, at) => outcomes[at] === undefined).map(({ name }) => name);
  if (stuck.length > 0) return { kind: 'failed', error: needsCycle(stuck).toJSON(), seq };
  return failure === undefined ? { kind: 'completed', output, seq } : { ...failure, seq };
}

function runNodes(
  walk: Walk,
  steps: readonly Step[],
  place: ListContext,
): Promise<readonly (StepOutcome | undefined)[]> {
  const at = new Map(steps.map(({ name }, index) => [name, index]));
  const needs = steps.map((step) => (step.needs ?? []).flatMap((name) => at.get(name) ?? []));
  const dependents = steps.map((): number[] => []);
  for (const [index, needed] of needs.entries()) for (const need of needed) dependents[need]?.push(index);
  /** Whether a direct or indirect dependent has started. */
  const isNeeded = (index: number, seen = new Set<number>()): boolean =>
    (dependents[index] ?? []).some((next) => {
      if (seen.has(next)) return false;
      seen.add(next);
      return walk.state.steps.has(place.prefix + (steps[next] as Step).name) || isNeeded(next, seen);
    });
  const missing = needs.map(({ length }) => length);
  const outcomes: (StepOutcome | undefined)[] = steps.map(() => undefined);

  return new Promise((resolve, reject) => {
    let running = 0;
    const start = (index: number) => {
      running++;
      const step = steps[index] as Step;
      const isPast = () => isNeeded(index);
      const before = { ...beforeOf(steps, index, needs[index] ?? [], outcomes), isPast };
      const run = async () => runStep(walk, step, place.prefix + step.name, place, before);
      run().then(
        (outcome) => {
          outcomes[index] = outcome;
          const free = (dependents[index] ?? []).filter((next) => {
            missing[next] = (missing[next] ?? 0) - 1;
            return missing[next] === 0;
          });
          walk.activity.add(free.length);
          for (const next of free) start(next);
          left();
        },
        (thrown: unknown) => {
          walk.crash(thrown);
          left();
        },
      );
    };
    // The last step passes its activity count on to the surrounding list.
    const left = () => {
      running--;
      if (running > 0) walk.activity.add(-1);
      else if (walk.isReleased) reject(RELEASED);
      else resolve(outcomes);
    };
    const first = steps.flatMap((_, index) => (missing[index] === 0 ? [index] : []));
    if (first.length === 0) {
      resolve(outcomes);
      return;
    }
    walk.activity.add(first.length - 1);
    for (const index of first) start(index);
  });
}

/** The results of the steps that a step needs. */
function beforeOf(
  steps: readonly Step[],
  index: number,
  needed: readonly number[],
  outcomes: readonly (StepOutcome | undefined)[],
): Omit<PrecedingSteps, 'isPast'> {
  let failed: string | undefined;
  let unhandled: string | undefined;
  let reason: PrecedingSteps['reason'] = 'needs';
  for (const need of needed) {
    const outcome = outcomes[need];
    const { name, on_error = 'fail' } = steps[need] as Step;
    if (outcome?.kind === 'failed') {
      failed ??= name;
      if (on_error === 'continue') continue;
      if (typeof on_error === 'object' && on_error.goto === steps[index]?.name) continue;
      if (unhandled === undefined && typeof on_error === 'object') reason = 'goto';
      unhandled ??= name;
    } else if (outcome?.kind === 'skipped' && (outcome.reason === 'needs' || outcome.reason === 'goto')) {
      failed ??= name;
      unhandled ??= name;
    }
  }
  return { failed, unhandled, reason };
}
