import { toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { MAX_STEP_DEPTH } from '../../manifest/schema/checks/check-states.ts';
import type {
  ForeachStep,
  ParallelStep,
  RaceStep,
  Step,
  StepLoopStep,
  SwitchStep,
  TryStep,
} from '../../manifest/schema/steps/step.ts';
import { settleNewStep } from '../changes/follow-change.ts';
import { type Composite, isComposite } from './composite.ts';
import {
  depthLimit,
  FOREACH_PARALLEL,
  loopLimit,
  MAX_STEP_INSTANCES,
  stepLimit,
  timedOut,
} from './failures.ts';
import { pauseAfter, pauseUntil, runSimpleStep } from './run-leaf.ts';
import { noteChoice, showTest, takeTest } from './run-states.ts';
import {
  cancel,
  complete,
  fail,
  failAtOnce,
  type Skip,
  type StepInProgress,
  skipStep,
} from './settle-step.ts';
import {
  type Branch,
  createBranch,
  endOnLog,
  hasBegun,
  itemsOnLog,
  itemsSet,
  type ListContext,
  type ListOutcome,
  notBegun,
  RELEASED,
  type StepOutcome,
  type Walk,
} from './walk.ts';

/** The results of the steps before a step in its list. */
export interface PrecedingSteps {
  /** A step with an unhandled failure. Only `always` and `on_failure` steps run after it. */
  readonly unhandled?: string | undefined;
  /** A step that failed, handled or not. */
  readonly failed?: string | undefined;
  /** The reason that is recorded for steps skipped because of it. */
  readonly reason: Skip['reason'];
  /** Whether a later step has started. That is only possible after an accepted change. */
  readonly isPast: () => boolean;
}

/** Runs one step of a list to its end, or takes its end from the log. */
export function runStep(
  walk: Walk,
  step: Step,
  address: string,
  place: ListContext,
  before: PrecedingSteps,
): StepOutcome | Promise<StepOutcome> {
  const known = walk.state.steps.get(address);
  const ended = known === undefined ? undefined : endOnLog(known);
  if (ended !== undefined) return ended; // the choice of a `transition` step was restored with its state
  if (place.branch.stopped !== undefined) return notBegun(place.branch);
  if (known !== undefined) return perform(walk, step, address, place);
  const settled = settleNewStep(walk, step, address, place, before.isPast);
  if (settled !== undefined) return settled;
  // Most steps have no condition.
  if (step.condition !== undefined || step.if !== undefined)
    return tested(walk, step, address, place, before);
  const { unhandled, reason } = before;
  return begin(
    walk,
    step,
    address,
    place,
    unhandled === undefined ? undefined : { reason, because: unhandled },
  );
}

async function tested(
  walk: Walk,
  step: Step,
  address: string,
  place: ListContext,
  before: PrecedingSteps,
): Promise<StepOutcome> {
  let skip: Skip | undefined;
  try {
    skip = await whyNot(walk, step, address, place, before);
  } catch (thrown) {
    if (thrown === RELEASED) throw thrown;
    return failAtOnce(walk, step, address, toRuntimeError(thrown).toJSON(), place.cause);
  }
  if (place.branch.stopped !== undefined) return notBegun(place.branch);
  return begin(walk, step, address, place, skip);
}

function begin(
  walk: Walk,
  step: Step,
  address: string,
  place: ListContext,
  skip: Skip | undefined,
): StepOutcome | Promise<StepOutcome> {
  if (skip !== undefined) return skipStep(walk, address, place.cause, skip);
  if (walk.state.steps.size >= MAX_STEP_INSTANCES) {
    walk.fail(stepLimit().toJSON());
    return notBegun(place.branch);
  }
  return perform(walk, step, address, place);
}

function perform(walk: Walk, step: Step, address: string, place: ListContext): Promise<StepOutcome> {
  if (isComposite(step)) return runComposite(walk, step, address, place);
  const outcome = runSimpleStep(walk, step, address, place);
  if (step.type !== 'transition') return outcome;
  return outcome.then((ended) => {
    noteChoice(place.visit, step, address, ended);
    return ended;
  });
}

async function whyNot(
  walk: Walk,
  { condition, if: test }: Step,
  address: string,
  { locals }: ListContext,
  { unhandled, failed, reason }: PrecedingSteps,
): Promise<Skip | undefined> {
  if (condition === 'on_failure') {
    if (failed === undefined) return { reason: 'condition', because: 'no step before it failed' };
  } else if (condition !== 'always') {
    if (unhandled !== undefined) return { reason, because: unhandled };
    if (condition === 'previous_steps_success') {
      // A handled failure counts too, because the condition is about all previous steps.
      if (failed !== undefined) return { reason: 'condition', because: failed };
    } else if (condition !== undefined) {
      const at = `${address}:condition`;
      if (!(await takeTest(walk, at, condition, locals)))
        return { reason: 'condition', because: showTest(condition) };
    }
  }
  if (test !== undefined && !(await takeTest(walk, `${address}:if`, test, locals)))
    return { reason: 'if', because: showTest(test) };
  return undefined;
}

const OUT_OF_TIME = 'the time of the step around it is up';

/** Runs a step with inner steps to its end. Time-outs, retries and events are the same as for any step. */
async function runComposite(
  walk: Walk,
  step: Composite,
  address: string,
  place: ListContext,
): Promise<StepOutcome> {
  if (place.depth >= MAX_STEP_DEPTH) {
    walk.fail(depthLimit(address, MAX_STEP_DEPTH).toJSON());
    return notBegun(place.branch);
  }
  const known = walk.state.steps.get(address);
  let prepared: Prepared;
  try {
    prepared = await prepare(walk, step, address, place);
  } catch (thrown) {
    if (thrown === RELEASED) throw thrown;
    if (place.branch.stopped !== undefined) return notBegun(place.branch);
    return failAtOnce(walk, step, address, toRuntimeError(thrown).toJSON(), place.cause);
  }
  if (place.branch.stopped !== undefined) return notBegun(place.branch);
  if (prepared.kind === 'nothing') {
    const skip = { reason: 'condition', because: prepared.because } as const;
    return skipStep(walk, address, place.cause, skip);
  }

  const startedAt = known?.startedAt ?? walk.clock.now();
  let triedAt = known?.triedAt ?? startedAt;
  let attempts = known?.attempts ?? 1;
  let cause = known?.cause;
  let begin = known === undefined;
  let due = known?.status === 'retrying' ? (known.due ?? 0) : undefined;
  for (;;) {
    if (due !== undefined) {
      await pauseUntil(walk, place.branch, due, address);
      if (place.branch.stopped !== undefined) {
        const paused = { step, address, startedAt, attempts, cause: cause ?? walk.state.started };
        return cancel(walk, paused, place.branch.stopped);
      }
      attempts++;
      begin = true;
    }
    if (begin || cause === undefined) {
      triedAt = walk.clock.now();
      const input = prepared.input === undefined ? {} : { input: prepared.input };
      cause = walk.write(
        { type: 'step.started', step: address, attempt: attempts, ...input, repeatable: true },
        place.cause,
      );
    }
    const begun: StepInProgress = { step, address, startedAt, attempts, cause };
    const outcome = await tryOnce(walk, place, begun, triedAt, prepared);
    if (outcome.kind === 'completed') return complete(walk, begun, outcome.output);
    if (outcome.kind === 'cancelled') return cancel(walk, begun, outcome.reason);
    const { error } = outcome;
    const { retry } = step;
    if (retry === undefined || attempts > retry.max) return fail(walk, begun, error);
    due = walk.clock.now() + pauseAfter(attempts, retry.backoff.ms, walk.random());
    walk.write({ type: 'step.retrying', step: address, attempt: attempts + 1, error, due }, cause);
  }
}

/** One attempt. Inner steps have different addresses in each attempt: `build!2/compile`. */
async function tryOnce(
  walk: Walk,
  place: ListContext,
  { step, address, attempts, cause }: StepInProgress,
  triedAt: number,
  prepared: Extract<Prepared, { readonly kind: 'body' }>,
): Promise<ListOutcome> {
  const inside = attempts === 1 ? address : `${address}!${attempts}`;
  const timeoutMs = step.timeout?.ms;
  const deadline = timeoutMs === undefined ? undefined : triedAt + timeoutMs;
  const branch = createBranch(place.branch, deadline);
  const disarm =
    deadline === undefined
      ? undefined
      : walk.clock.after(Math.max(0, deadline - walk.clock.now()), () => branch.stop(OUT_OF_TIME));
  const inner = { ...place, branch, cause, depth: place.depth + 1 };
  const outcome = await prepared.run(inside, inner).finally(() => {
    disarm?.();
    branch.close();
  });
  if (branch.stopped !== undefined) walk.sweep(inside, branch.stopped);
  if (place.branch.stopped !== undefined)
    return outcome.kind === 'completed' ? outcome : notBegun(place.branch);
  // The clock alone counts only if the log shows a cancellation already. A clock that is set back must not
  // undo a time-out.
  const late = branch.stopped === OUT_OF_TIME || (deadline !== undefined && walk.clock.now() >= deadline);
  if (outcome.kind !== 'cancelled' || !late) return outcome;
  return {
    kind: 'failed',
    error: timedOut(address, timeoutMs ?? 0).toJSON(),
    step: address,
    seq: outcome.seq,
  };
}

/** What a step with inner steps will do. `input` is recorded with its start. */
export type Prepared =
  | { readonly kind: 'nothing'; readonly because: string }
  | {
      readonly kind: 'body';
      readonly input?: JsonObject;
      /** `inside` is the prefix of inner addresses. */
      run(inside: string, place: ListContext): Promise<ListOutcome>;
    };

/** Decides what must be known before the step starts: the items of a `foreach`, the case of a `switch`. */
async function prepare(walk: Walk, step: Composite, address: string, place: ListContext): Promise<Prepared> {
  switch (step.type) {
    case 'parallel':
      return body((inside, inner) => runParallel(walk, step, inside, inner));
    case 'race':
      return body((inside, inner) => runRace(walk, step, inside, inner));
    case 'foreach': {
      const items: readonly Json[] =
        itemsOnLog(walk.state.steps.get(address), step) ?? (await itemsSet(walk, step, address, place));
      const run = (inside: string, inner: ListContext) => runForeach(walk, step, items, inside, inner);
      return items === step.in ? body(run) : { ...body(run), input: { items } };
    }
    case 'loop':
      return body((inside, inner) => runLoop(walk, step, inside, inner));
    case 'switch': {
      const chosen = await chooseCase(walk, step, address, place);
      return chosen === undefined
        ? { kind: 'nothing', because: 'no case holds' }
        : body((inside, inner) => walk.list(chosen, { ...inner, prefix: `${inside}/` }));
    }
    case 'try':
      return body((inside, inner) => runTry(walk, step, inside, inner));
  }
}

const body = (run: Extract<Prepared, { readonly kind: 'body' }>['run']): Prepared & { kind: 'body' } => ({
  kind: 'body',
  run,
});

async function chooseCase(
  walk: Walk,
  step: SwitchStep,
  address: string,
  { locals }: ListContext,
): Promise<readonly Step[] | undefined> {
  for (const [index, each] of step.cases.entries())
    if (await takeTest(walk, `${address}:case ${index}`, each.if, locals)) return each.body;
  return step.default;
}

/**
 * Runs the body, then `catch` if it fails, with the error as `error`, and `finally` after either. A cancelled
 * step runs nothing more. A failure of `finally` counts if nothing failed before.
 */
async function runTry(walk: Walk, step: TryStep, inside: string, place: ListContext): Promise<ListOutcome> {
  const inner = { ...place, prefix: `${inside}/` };
  const isFinal = hasBegun(walk, step.finally, inner.prefix);
  const isOver = isFinal || hasBegun(walk, step.catch, inner.prefix);
  let outcome = await walk.list(step.body, isOver ? { ...inner, isOver } : inner);
  if (outcome.kind === 'failed' && step.catch !== undefined) {
    const locals = { ...place.locals, error: outcome.error as unknown as Json };
    outcome = await walk.list(step.catch, { ...inner, locals, ...(isFinal && { isOver: true }) });
  }
  if (outcome.kind === 'cancelled' || step.finally === undefined) return outcome;
  const last = await walk.list(step.finally, inner);
  return last.kind === 'cancelled' || (outcome.kind === 'completed' && last.kind === 'failed')
    ? last
    : outcome;
}

/** Runs the body once for each item. The first failure cancels the others. */
async function runForeach(
  walk: Walk,
  { as, body, max_parallel }: ForeachStep,
  items: readonly Json[],
  inside: string,
  place: ListContext,
): Promise<ListOutcome> {
  const outcomes = await runPool(walk, {
    count: items.length,
    atOnce: max_parallel ?? FOREACH_PARALLEL,
    branch: place.branch,
    run: (index) =>
      walk.list(body, {
        ...place,
        prefix: `${inside}[${index}]/`,
        locals: { ...place.locals, [as]: items[index] ?? null },
      }),
    ends: (outcome) => (outcome.kind === 'failed' ? 'another item failed' : undefined),
  });
  return firstOnLog(outcomes, 'failed') ?? allOf(outcomes, place);
}

/**
 * Runs rounds until the test ends the loop: `while` is evaluated before each round, `until` after it. The
 * output is that of the last round.
 */
async function runLoop(
  walk: Walk,
  { while: goesOn, until, max, body }: StepLoopStep,
  inside: string,
  place: ListContext,
): Promise<ListOutcome> {
  const { branch, locals } = place;
  let last: ListOutcome = { kind: 'completed', output: null, seq: 0 };
  for (let round = 1; ; round++) {
    if (goesOn !== undefined && !(await takeTest(walk, `${inside}:while#${round}`, goesOn, locals)))
      return last;
    if (branch.stopped !== undefined) return notBegun(branch);
    if (round > max) return limit(inside, max, last.seq);
    const isOver = hasBegun(walk, body, `${inside}#${round + 1}/`);
    last = await walk.list(body, { ...place, prefix: `${inside}#${round}/`, ...(isOver && { isOver }) });
    if (last.kind !== 'completed') return last;
    if (until !== undefined && (await takeTest(walk, `${inside}:until#${round}`, until, locals))) return last;
    if (branch.stopped !== undefined) return notBegun(branch);
    if (until !== undefined && round === max) return limit(inside, max, last.seq);
  }
}

const limit = (inside: string, max: number, seq: number): ListOutcome => ({
  kind: 'failed',
  error: loopLimit(inside, max).toJSON(),
  step: inside,
  seq,
});

async function runParallel(
  walk: Walk,
  { branches, max_parallel, fail_fast }: ParallelStep,
  inside: string,
  place: ListContext,
): Promise<ListOutcome> {
  const outcomes = await side(walk, branches, max_parallel, inside, place, (outcome) =>
    outcome.kind === 'failed' && fail_fast ? 'another branch failed' : undefined,
  );
  const failed = fail_fast
    ? firstOnLog(outcomes, 'failed')
    : outcomes.find((outcome) => outcome?.kind === 'failed');
  return failed ?? allOf(outcomes, place);
}

async function runRace(
  walk: Walk,
  { branches, max_parallel }: RaceStep,
  inside: string,
  place: ListContext,
): Promise<ListOutcome> {
  const outcomes = await side(walk, branches, max_parallel, inside, place, (outcome) =>
    outcome.kind === 'completed' ? 'another branch was first' : undefined,
  );
  const winner = firstOnLog(outcomes, 'completed');
  if (winner !== undefined) {
    for (const [index, outcome] of outcomes.entries())
      if (outcome === undefined)
        for (const { name } of branches[index] ?? [])
          skipStep(walk, `${inside}/${name}`, place.cause, { reason: 'race' });
    return winner;
  }
  const cancelled = outcomes.find((outcome) => outcome?.kind !== 'failed');
  if (cancelled !== undefined || outcomes.includes(undefined)) return cancelled ?? notBegun(place.branch);
  let last: ListOutcome | undefined;
  for (const outcome of outcomes)
    if (outcome !== undefined && outcome.seq >= (last?.seq ?? 0)) last = outcome;
  return last ?? notBegun(place.branch);
}

/** The outputs in order if all branches have completed, otherwise cancelled. */
function allOf(outcomes: readonly (ListOutcome | undefined)[], place: ListContext): ListOutcome {
  let seq = 0;
  const output = [];
  for (const outcome of outcomes) {
    if (outcome === undefined) return notBegun(place.branch);
    if (outcome.kind !== 'completed') return outcome;
    seq = Math.max(seq, outcome.seq);
    output.push(outcome.output);
  }
  return { kind: 'completed', output, seq };
}

const side = (
  walk: Walk,
  branches: readonly (readonly Step[])[],
  atOnce: number | undefined,
  inside: string,
  place: ListContext,
  ends: (outcome: ListOutcome) => string | undefined,
) =>
  runPool(walk, {
    count: branches.length,
    atOnce: atOnce ?? branches.length,
    branch: place.branch,
    run: (index) => walk.list(branches[index] ?? [], { ...place, prefix: `${inside}/` }),
    ends,
  });

export interface Pool {
  readonly count: number;
  /** The maximum number of parallel runs. */
  readonly atOnce: number;
  readonly branch: Branch;
  run(index: number): Promise<ListOutcome>;
  /** Why this outcome cancels the others. Undefined to continue. */
  ends(outcome: ListOutcome): string | undefined;
}

/**
 * Runs branches in parallel and waits for every started one. Branches that were not started are undefined.
 */
async function runPool(walk: Walk, pool: Pool): Promise<readonly (ListOutcome | undefined)[]> {
  const { count, branch } = pool;
  const outcomes = new Array<ListOutcome | undefined>(count).fill(undefined);
  const workers = Math.min(count, pool.atOnce);
  let next = 0;
  let running = workers;
  const work = async () => {
    try {
      while (next < count && branch.stopped === undefined) {
        const index = next++;
        const outcome = await pool.run(index);
        outcomes[index] = outcome;
        const reason = pool.ends(outcome);
        if (reason !== undefined) branch.stop(reason);
      }
    } catch (thrown) {
      walk.crash(thrown);
    }
    // The last branch passes its activity count on to the surrounding step.
    running--;
    if (running > 0) walk.activity.add(-1);
  };
  if (workers === 0) return outcomes;
  walk.activity.add(workers - 1);
  await Promise.all(Array.from({ length: workers }, work));
  if (walk.isReleased) throw RELEASED;
  return outcomes;
}

/** The outcome of this kind that is first on the log, so that a restart gives the same one. */
function firstOnLog<Kind extends ListOutcome['kind']>(
  outcomes: readonly (ListOutcome | undefined)[],
  kind: Kind,
): Extract<ListOutcome, { readonly kind: Kind }> | undefined {
  let first: Extract<ListOutcome, { readonly kind: Kind }> | undefined;
  for (const outcome of outcomes)
    if (outcome?.kind === kind && (first === undefined || outcome.seq < first.seq))
      first = outcome as Extract<ListOutcome, { readonly kind: Kind }>;
  return first;
}
