import { decideTest, type EvaluateDecision } from '../expressions/cel/evaluate.ts';
import type { Expression } from '../expressions/cel/parse-expression.ts';
import { err, ok, type Result, type RuntimeError, stopWith, toRuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { withLists } from '../lib/with-lists.ts';
import type { DeclaredAction } from '../log/action.ts';
import { newestOf, writtenId } from '../log/action-id.ts';
import { type AttemptOutcome, attempt, delayAfter, GRACE_MS, stopAttempt, triesAgain } from './attempt.ts';
import { lateNeeds } from './bind.ts';
import { freeStream, waitForMore } from './dependency-graph.ts';
import { APPROVAL_VOID, type TargetTraits } from './edges.ts';
import { expand } from './expand.ts';
import { cancelled } from './failures.ts';
import { leaveOnce } from './leave-once.ts';
import { isLoop } from './loops.ts';
import { resolveInput } from './named.ts';
import { type NameSpace, outputOf } from './names.ts';
import { apply, cancel, complete, enqueue, fail, skip } from './record.ts';
import { mayRunAgain } from './restore.ts';
import { type Clearing, type Looking, type Run, type Running, type SchedulerCore, WAITING } from './run.ts';
import { giveSlotBack, hasSlot, LET_GO, leave, lose } from './stop.ts';

/** Starts an action that has a place, unless something now speaks against it. */
export function start(scheduler: SchedulerCore, run: Run): void {
  run.stage = WAITING;
  // It was tried before, or a person was asked about just these parameters.
  const again = run.input !== undefined;
  if (!again && (waitsAfterAll(scheduler, run) || !isWanted(scheduler, run))) return;
  if (isLoop(run.action)) expand(scheduler, run);
  else if (
    (again || isReady(scheduler, run)) &&
    isLookedAt(scheduler, run) &&
    isCleared(scheduler, run) &&
    hasSlot(scheduler, run) &&
    hasEntered(scheduler, run)
  )
    begin(scheduler, run);
}

/** Variables that named nothing when it was declared may do so now. */
function waitsAfterAll(scheduler: SchedulerCore, run: Run): boolean {
  const { late } = run.binding;
  if (late.length === 0) return false;
  const { nodes, failedBy } = lateNeeds(scheduler, run.action, late);
  if (failedBy === undefined) {
    const waits = nodes.length > 0 && waitForMore(scheduler.graph, run.node, nodes);
    if (waits) apply(scheduler, freeStream(scheduler.graph, [], [run.node]), run.cause);
    return waits;
  }
  skip(scheduler, run, 'dependency', failedBy);
  return true;
}

function isWanted(scheduler: SchedulerCore, run: Run): boolean {
  const { action } = run;
  if (action.if === undefined) return true;
  const { held, problem } = testIf(action.if, action, scheduler, scheduler.deps.context());
  if (!held) skip(scheduler, run, 'if', problem);
  return held;
}

/** Resolves its parameters and asks its target whether they will do. */
function isReady(scheduler: SchedulerCore, run: Run): boolean {
  const { action } = run;
  const resolved = resolveInput(scheduler, action, run.binding, action.parameters);
  run.traits ??= scheduler.deps.traits(action);
  const { traits } = run;
  if (!resolved.ok || traits === undefined) {
    fail(scheduler, run, resolved.ok ? scheduler.deps.unknownTarget(action) : resolved.error);
    return false;
  }
  const { value, fault } = resolved.value;
  // A list in a string may have come from another action.
  const lists = traits.parameters === undefined ? value : withLists(traits.parameters, value);
  const input = traits.inFull?.(lists) ?? lists;
  const problem = traits.check(input);
  if (problem !== undefined) {
    fail(scheduler, run, problem);
    return false;
  }
  if (fault !== undefined) scheduler.deps.append(fault, run.cause);
  run.input = input;
  return true;
}

const NO_INPUT: JsonObject = {};

/** Asks for leave where its target says that it may need some. Until there is an answer it takes no place. */
function isCleared(scheduler: SchedulerCore, run: Run): boolean {
  const { deps } = scheduler;
  const { action, traits, input = NO_INPUT } = run;
  if (run.cleared || traits?.needs === undefined) return true;
  const controller = new AbortController();
  const asked = deps.clear?.({ action, input, signal: controller.signal });
  if (asked === undefined) return true;
  const stage: Clearing = { at: 'clearing', withdraw: () => controller.abort() };
  run.stage = stage;
  const answered = (refusal: RuntimeError | undefined) => {
    if (run.stage !== stage) return; // cancelled, or the log is lost
    run.cleared = true;
    if (refusal === undefined) enqueue(scheduler, run, undefined);
    else fail(scheduler, run, refusal);
    scheduler.goOn();
  };
  asked.then(answered, (thrown: unknown) => answered(toRuntimeError(thrown)));
  return false;
}

/**
 * The log comes first: where a try must not be made twice, its start is committed before it begins. Other tries may run
 * ahead of the log, but only so many of them.
 */
function begin(scheduler: SchedulerCore, run: Run): void {
  const { deps } = scheduler;
  const { action, traits, input = NO_INPUT } = run;
  if (traits === undefined) {
    fail(scheduler, run, deps.unknownTarget(action));
    return;
  }
  if (run.attempts++ === 0) run.since = deps.clock.monotonic();
  if (run.counted) scheduler.places--;
  const started = { type: 'action.started', id: action.id, attempt: run.attempts, input } as const;
  run.cause = deps.append(started, run.cause);
  if (mayBeginNow(scheduler, traits, input, run.cause.seq)) {
    perform(scheduler, run, traits);
    return;
  }
  const stage = { at: 'committing' } as const;
  run.stage = stage;
  deps.committed(run.cause.seq, (error) => {
    if (error !== undefined) lose(scheduler);
    else if (run.stage === stage) perform(scheduler, run, traits);
  });
}

const mayBeginNow = (
  { deps, ahead }: SchedulerCore,
  traits: TargetTraits,
  input: JsonObject,
  seq: number,
): boolean =>
  mayRunAgain(traits, input) && deps.mayBeLost?.() !== true && ahead.admits(seq, deps.committedSeq());

function perform(scheduler: SchedulerCore, run: Run, traits: TargetTraits): void {
  const { action, input = NO_INPUT } = run;
  const stage: Running = { at: 'running', attempt: undefined, cancelled: undefined };
  run.stage = stage;
  const timeoutMs =
    action.timeout !== undefined
      ? action.timeout * 1000
      : (traits.timeoutMs ?? scheduler.options.actionTimeoutMs);
  const controller = new AbortController();
  const { signal } = controller;
  const call = { action, input, attempt: run.attempts, cause: run.cause, signal };
  const done = (outcome: AttemptOutcome) => settled(scheduler, run, stage, outcome);
  stage.attempt = attempt(scheduler.deps, controller, call, timeoutMs, traits.graceMs ?? GRACE_MS, done);
  // The target may have had itself cancelled, or its session let go of, while it was called.
  if (stage.cancelled !== undefined) stopAttempt(stage.attempt, cancelled(stage.cancelled));
  else if (scheduler.life === 'lost') stopAttempt(stage.attempt, cancelled(LET_GO));
}

function settled(scheduler: SchedulerCore, run: Run, stage: Running, outcome: AttemptOutcome): void {
  stage.attempt = undefined;
  if (run.counted) scheduler.places++;
  if (run.slot !== undefined) giveSlotBack(run);
  if (scheduler.life === 'lost') {
    leave(scheduler, run);
    return;
  }
  if (stage.cancelled !== undefined) cancel(scheduler, run, stage.cancelled);
  else if (outcome.ok) {
    if (!isBeingLookedAt(scheduler, run, outcome.output)) complete(scheduler, run, outcome.output);
  } else if (outcome.error.code === APPROVAL_VOID) clearAgain(scheduler, run, outcome.error);
  else if (triesAgain(run.action, ++run.failures, outcome.error)) rest(scheduler, run, outcome.error);
  else fail(scheduler, run, outcome.error);
  scheduler.goOn();
}

/** Nothing was done: it is no failure, and begins anew once it has leave. */
function clearAgain(scheduler: SchedulerCore, run: Run, voided: RuntimeError): void {
  const retrying = { id: run.action.id, attempt: run.attempts + 1, error: voided.toJSON(), delay_ms: 0 };
  run.cause = scheduler.deps.append({ type: 'action.retrying', ...retrying }, run.cause);
  leaveOnce(run);
  run.cleared = false;
  enqueue(scheduler, run, undefined);
}

/** Until its next try it takes no place. */
function rest(scheduler: SchedulerCore, run: Run, failure: RuntimeError): void {
  const { deps } = scheduler;
  const { id } = run.action;
  const attempt = run.attempts + 1;
  const delay_ms = delayAfter(run.failures, deps.random());
  const error = failure.toJSON();
  run.cause = deps.append({ type: 'action.retrying', id, attempt, error, delay_ms }, run.cause);
  const wake = deps.clock.after(delay_ms, () => {
    enqueue(scheduler, run, undefined);
    scheduler.goOn();
  });
  run.stage = { at: 'resting', forget: wake };
  leaveOnce(run);
}

/** Whether a try may begin: one that must not be made twice does not where nobody would see it end. */
function hasEntered({ deps }: SchedulerCore, run: Run): boolean {
  const { traits, input = {} } = run;
  if (deps.once === undefined || traits === undefined || mayRunAgain(traits, input)) return true;
  run.leaveOnce = deps.once();
  if (run.leaveOnce !== undefined) return true;
  giveSlotBack(run);
  return false;
}

/** Whether an action's `if` holds now. */
const testIf = (
  source: string,
  action: DeclaredAction,
  names: NameSpace,
  context: Readonly<Record<string, unknown>>,
): EvaluateDecision => decideTest(source, (test) => contextOf(test, action, names, context));

function contextOf(
  test: Expression,
  action: DeclaredAction,
  names: NameSpace,
  context: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const ids = new Set<string>();
  let all = false;
  for (const { root, path } of test.names) {
    if (root !== 'actions') continue;
    if (typeof path[0] === 'string') ids.add(path[0]);
    else all = true;
  }
  return {
    ...action.locals,
    ...context,
    actions: viewOf(names, all ? names.state.actions.keys() : ids),
  };
}

/** `{status, output?, error?}` by id. Only of the ids an expression names: one that walks over all pays for all. */
function viewOf(names: NameSpace, ids: Iterable<string>): Readonly<Record<string, unknown>> {
  const view: Record<string, unknown> = Object.create(null);
  for (const asked of ids) {
    const id = writtenId(asked);
    const newest = newestOf(names.state, id);
    const known = names.state.actions.get(newest);
    if (known !== undefined) {
      const { status, output, error } = known;
      view[id] = {
        status,
        ...(output === undefined ? {} : { output }),
        ...(error === undefined ? {} : { error }),
      };
    } else if (names.loops?.has(newest)) view[id] = viewOfLoop(names, newest);
  }
  return view;
}

function viewOfLoop(names: NameSpace, id: string): unknown {
  const gate = names.graph.gates?.get(id);
  if (gate === undefined || (gate.failedBy === undefined && !(gate.sealed && gate.open.size === 0)))
    return { status: 'running' };
  return gate.failedBy === undefined
    ? { status: 'completed', output: outputOf(names, id) }
    : { status: 'failed' };
}

const NOTHING_GIVEN: JsonObject = {};

/** Has an action looked at before it begins, where anybody wants to. Until then it takes no place. */
function isLookedAt(scheduler: SchedulerCore, run: Run): boolean {
  const { before } = scheduler.deps;
  if (before === undefined || run.looked || run.attempts > 0 || run.traits === undefined) return true;
  const { action, cause, input = NOTHING_GIVEN } = run;
  const ask = (signal: AbortSignal) => before({ action, input, cause, signal });
  look(scheduler, run, ask, (looked) => {
    run.looked = true;
    if (looked.ok) {
      run.input = looked.value;
      enqueue(scheduler, run, undefined);
    } else fail(scheduler, run, looked.error);
  });
  return false;
}

/** Has its output looked at, where anybody wants to: what they leave of it is on the log together with its end. */
function isBeingLookedAt(scheduler: SchedulerCore, run: Run, output: Json): boolean {
  const { after, clock } = scheduler.deps;
  if (after === undefined) return false;
  const { action, cause, input = NOTHING_GIVEN } = run;
  run.until = clock.monotonic();
  const ask = (signal: AbortSignal) => after({ action, input, cause, output, signal });
  look(scheduler, run, ask, (looked) => {
    if (!looked.ok) {
      fail(scheduler, run, looked.error);
      return;
    }
    for (const record of looked.value.records) scheduler.deps.append(record, cause);
    complete(scheduler, run, looked.value.output);
  });
  return true;
}

/** What they come to counts, unless the action has ended meanwhile. */
function look<T>(
  scheduler: SchedulerCore,
  run: Run,
  ask: (signal: AbortSignal) => Promise<T>,
  then: (looked: Result<T, RuntimeError>) => void,
): void {
  const controller = new AbortController();
  const withdraw = () => stopWith(controller, cancelled('The action was cancelled.'));
  const stage: Looking = { at: 'looking', withdraw };
  run.stage = stage;
  const looked = (result: Result<T, RuntimeError>) => {
    if (run.stage !== stage) return; // cancelled, or the log is lost
    then(result);
    scheduler.goOn();
  };
  ask(controller.signal).then(
    (value) => looked(ok(value)),
    (thrown: unknown) => looked(err(toRuntimeError(thrown))),
  );
}
