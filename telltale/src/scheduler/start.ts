import { decideTest, type EvaluateDecision } from '../expressions/cel/evaluate.ts';
import type { Expression } from '../expressions/cel/parse-expression.ts';
import { readWholeReference } from '../expressions/references/reference.ts';
import { err, ok, type Result, type RuntimeError, stopWith, toRuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { withLists } from '../lib/with-lists.ts';
import { type DeclaredAction, isForEach, newestOf, writtenId } from '../log/action.ts';
import {
  Attempt,
  type AttemptOutcome,
  backoffDelay,
  GRACE_MS,
  isIdempotent,
  shouldRetry,
} from './attempt.ts';
import { lookupsOf, needsOfUnresolved, resolveInput } from './bindings.ts';
import { addAction } from './declare.ts';
import { breakStreamDeadlocks, skipUnseen, waitForMore } from './dependency-graph.ts';
import { cancelled, lastPart, listUnknown, loopFailed, partUnknown } from './faults.ts';
import { itemsOf, iterationActions, loopOf } from './foreach.ts';
import { type NameSpace, outputOf } from './names.ts';
import { applyChanges, cancel, complete, enqueue, fail, skip } from './record.ts';
import {
  type AwaitingApproval,
  type AwaitingSlot,
  giveSlotBack,
  type InHook,
  QUEUED,
  type Run,
  type Running,
  releaseGuard,
  type SchedulerCore,
  WAITING,
} from './scheduler-core.ts';
import { APPROVAL_VOID, type ForEachLoop, type TargetTraits } from './scheduler-deps.ts';
import { forgetRun, RELEASED, releaseLog } from './stop.ts';

/**
 * Starts a queued action, one condition after the other: its `if`, its parameters, hooks, approval, a slot. Where one of
 * them has to be waited for, the action is queued again afterwards and passes those that are done.
 */
export function start(scheduler: SchedulerCore, run: Run): void {
  run.stage = WAITING;
  // The input is set once an attempt has begun, or once a person was asked to approve it.
  const isResolved = run.input !== undefined;
  if (!isResolved && (waitsForLateNames(scheduler, run) || !conditionHolds(scheduler, run))) return;
  if (isForEach(run.action)) expand(scheduler, run);
  else if (
    (isResolved || hasValidParameters(scheduler, run)) &&
    passedBeforeHook(scheduler, run) &&
    isApproved(scheduler, run) &&
    hasSlot(scheduler, run) &&
    mayRunOnce(scheduler, run)
  )
    begin(scheduler, run);
}

/** Names that stood for nothing when the action was declared may stand for an unfinished action now. */
function waitsForLateNames(scheduler: SchedulerCore, run: Run): boolean {
  const { unresolved } = run.binding;
  if (unresolved.length === 0) return false;
  const { nodes, failedBy } = needsOfUnresolved(scheduler, run.action, unresolved);
  if (failedBy === undefined) {
    const waits = nodes.length > 0 && waitForMore(scheduler.graph, run.node, nodes);
    if (waits) applyChanges(scheduler, breakStreamDeadlocks(scheduler.graph, [], [run.node]), run.cause);
    return waits;
  }
  skip(scheduler, run, 'dependency', failedBy);
  return true;
}

function conditionHolds(scheduler: SchedulerCore, run: Run): boolean {
  const { action } = run;
  if (action.if === undefined) return true;
  const { held, problem } = testIf(action.if, action, scheduler, scheduler.deps.context());
  if (!held) skip(scheduler, run, 'if', problem);
  return held;
}

/** Resolves the parameters and lets the target check them. */
function hasValidParameters(scheduler: SchedulerCore, run: Run): boolean {
  const { action } = run;
  const resolved = resolveInput(scheduler, action, run.binding, action.parameters);
  run.traits ??= scheduler.deps.traits(action);
  const { traits } = run;
  if (!resolved.ok || traits === undefined) {
    fail(scheduler, run, resolved.ok ? scheduler.deps.unknownTarget(action) : resolved.error);
    return false;
  }
  const { value, fault } = resolved.value;
  // Another action may have returned a list as a string.
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

const EMPTY_INPUT: JsonObject = {};

/** Runs the hooks that come before an action. Meanwhile the action uses no capacity. */
function passedBeforeHook(scheduler: SchedulerCore, run: Run): boolean {
  const { before } = scheduler.deps;
  if (before === undefined || run.beforeHookDone || run.attempts > 0 || run.traits === undefined) return true;
  const { action, cause, input = EMPTY_INPUT } = run;
  const call = (signal: AbortSignal) => before({ action, input, cause, signal });
  runHook(scheduler, run, call, (changed) => {
    run.beforeHookDone = true;
    if (changed.ok) {
      run.input = changed.value;
      enqueue(scheduler, run, undefined);
    } else fail(scheduler, run, changed.error);
  });
  return false;
}

/** Runs the hooks that come after an action. They may change its output, which is then logged with its end. */
function runsAfterHook(scheduler: SchedulerCore, run: Run, output: Json): boolean {
  const { after, clock } = scheduler.deps;
  if (after === undefined) return false;
  const { action, cause, input = EMPTY_INPUT } = run;
  run.targetEndedAt = clock.monotonic();
  const call = (signal: AbortSignal) => after({ action, input, cause, output, signal });
  runHook(scheduler, run, call, (changed) => {
    if (!changed.ok) {
      fail(scheduler, run, changed.error);
      return;
    }
    for (const record of changed.value.records) scheduler.deps.append(record, cause);
    complete(scheduler, run, changed.value.output);
  });
  return true;
}

/** Calls a hook, and uses what it returns unless the action has ended meanwhile. */
function runHook<T>(
  scheduler: SchedulerCore,
  run: Run,
  call: (signal: AbortSignal) => Promise<T>,
  use: (result: Result<T, RuntimeError>) => void,
): void {
  const controller = new AbortController();
  const withdraw = () => stopWith(controller, cancelled('The action was cancelled.'));
  const stage: InHook = { at: 'in_hook', withdraw };
  run.stage = stage;
  const settled = (result: Result<T, RuntimeError>) => {
    if (run.stage !== stage) return; // cancelled, or the log is lost
    use(result);
    scheduler.advance();
  };
  call(controller.signal).then(
    (value) => settled(ok(value)),
    (thrown: unknown) => settled(err(toRuntimeError(thrown))),
  );
}

/** Asks for approval if the target may need one. Until there is an answer, the action uses no capacity. */
function isApproved(scheduler: SchedulerCore, run: Run): boolean {
  const { deps } = scheduler;
  const { action, traits, input = EMPTY_INPUT } = run;
  if (run.approved || traits?.needs === undefined) return true;
  const controller = new AbortController();
  const asked = deps.requestApproval?.({ action, input, signal: controller.signal });
  if (asked === undefined) return true;
  const stage: AwaitingApproval = { at: 'awaiting_approval', withdraw: () => controller.abort() };
  run.stage = stage;
  const answered = (refusal: RuntimeError | undefined) => {
    if (run.stage !== stage) return; // cancelled, or the log is lost
    run.approved = true;
    if (refusal === undefined) enqueue(scheduler, run, undefined);
    else fail(scheduler, run, refusal);
    scheduler.advance();
  };
  asked.then(answered, (thrown: unknown) => answered(toRuntimeError(thrown)));
  return false;
}

/**
 * Takes one of the target's slots if it has a limit. While an action waits for a slot, it uses no capacity, so that others
 * can run. If it gets the slot when there is no capacity left, it gives the slot back: the action that uses the capacity
 * may have called a sub-agent that needs the same slot. The next time, it keeps its capacity while it waits.
 */
function hasSlot(scheduler: SchedulerCore, run: Run): boolean {
  const slots = run.traits?.slots;
  if (slots === undefined || run.slot !== undefined) return true;
  const controller = new AbortController();
  const asked = scheduler.deps.takeSlot?.({ ...slots, signal: controller.signal });
  if (asked === undefined) return true;
  if (typeof asked === 'function') {
    run.slot = asked;
    return true;
  }
  waitForSlot(scheduler, run, asked, controller);
  return false;
}

function waitForSlot(
  scheduler: SchedulerCore,
  run: Run,
  asked: Promise<() => void>,
  controller: AbortController,
): void {
  const holdsCapacity = run.usesCapacity && run.keepsCapacity === true;
  if (holdsCapacity) scheduler.capacity--;
  const giveCapacityBack = () => {
    if (holdsCapacity) scheduler.capacity++;
  };
  const stage: AwaitingSlot = {
    at: 'awaiting_slot',
    withdraw() {
      giveCapacityBack();
      stopWith(controller, cancelled('The action was cancelled.'));
    },
  };
  run.stage = stage;
  const given = (free: () => void) => {
    if (run.stage !== stage) {
      free(); // cancelled, or the log is lost
      return;
    }
    giveCapacityBack();
    if (run.usesCapacity && scheduler.capacity === 0) {
      free();
      run.keepsCapacity = true;
      enqueue(scheduler, run, undefined);
    } else {
      run.slot = free;
      run.stage = QUEUED;
      scheduler.uncountedQueue.push(run); // it has waited in the other queue already
    }
    scheduler.advance();
  };
  const refused = (error: RuntimeError) => {
    if (run.stage !== stage) return;
    giveCapacityBack();
    fail(scheduler, run, error);
    scheduler.advance();
  };
  asked.then(given, (thrown: unknown) => refused(toRuntimeError(thrown)));
}

/** Whether an attempt may begin. A call that must not be made twice does not start if nobody would see it end. */
function mayRunOnce({ deps }: SchedulerCore, run: Run): boolean {
  const { traits, input = EMPTY_INPUT } = run;
  if (deps.enterNonIdempotent === undefined || traits === undefined || isIdempotent(traits, input))
    return true;
  run.releaseGuard = deps.enterNonIdempotent();
  if (run.releaseGuard !== undefined) return true;
  giveSlotBack(run);
  return false;
}

/**
 * Logs `action.started` and calls the target. A call that must not be made twice waits until that event is committed. Other
 * calls may run ahead of the log, but only so many of them.
 */
function begin(scheduler: SchedulerCore, run: Run): void {
  const { deps } = scheduler;
  const { action, traits, input = EMPTY_INPUT } = run;
  if (traits === undefined) {
    fail(scheduler, run, deps.unknownTarget(action));
    return;
  }
  if (run.attempts++ === 0) run.startedAt = deps.clock.monotonic();
  if (run.usesCapacity) scheduler.capacity--;
  const started = { type: 'action.started', id: action.id, attempt: run.attempts, input } as const;
  run.cause = deps.append(started, run.cause);
  if (mayRunAhead(scheduler, traits, input, run.cause.seq)) {
    runAttempt(scheduler, run, traits);
    return;
  }
  const stage = { at: 'committing' } as const;
  run.stage = stage;
  deps.committed(run.cause.seq, (error) => {
    if (error !== undefined) releaseLog(scheduler);
    else if (run.stage === stage) runAttempt(scheduler, run, traits);
  });
}

const mayRunAhead = (
  { deps, ahead }: SchedulerCore,
  traits: TargetTraits,
  input: JsonObject,
  seq: number,
): boolean =>
  isIdempotent(traits, input) && deps.mayBeLost?.() !== true && ahead.admits(seq, deps.committedSeq());

function runAttempt(scheduler: SchedulerCore, run: Run, traits: TargetTraits): void {
  const { action, input = EMPTY_INPUT } = run;
  const stage: Running = { at: 'running', attempt: undefined, cancelled: undefined };
  run.stage = stage;
  const timeoutMs =
    action.timeout !== undefined
      ? action.timeout * 1000
      : (traits.timeoutMs ?? scheduler.options.actionTimeoutMs);
  stage.attempt = new Attempt(
    scheduler.deps,
    { action, input, attempt: run.attempts, cause: run.cause },
    { timeoutMs, graceMs: traits.graceMs ?? GRACE_MS },
    (outcome) => attemptEnded(scheduler, run, stage, outcome),
  );
  // The target may have cancelled its own action, or released its session, while it was called.
  if (stage.cancelled !== undefined) stage.attempt.stop(cancelled(stage.cancelled));
  else if (scheduler.status === 'lost') stage.attempt.stop(cancelled(RELEASED));
}

function attemptEnded(scheduler: SchedulerCore, run: Run, stage: Running, outcome: AttemptOutcome): void {
  stage.attempt = undefined;
  if (run.usesCapacity) scheduler.capacity++;
  if (run.slot !== undefined) giveSlotBack(run);
  if (scheduler.status === 'lost') {
    forgetRun(scheduler, run);
    return;
  }
  if (stage.cancelled !== undefined) cancel(scheduler, run, stage.cancelled);
  else if (outcome.ok) {
    if (!runsAfterHook(scheduler, run, outcome.output)) complete(scheduler, run, outcome.output);
  } else if (outcome.error.code === APPROVAL_VOID) askApprovalAgain(scheduler, run, outcome.error);
  else if (shouldRetry(run.action, ++run.failures, outcome.error))
    scheduleRetry(scheduler, run, outcome.error);
  else fail(scheduler, run, outcome.error);
  scheduler.advance();
}

/** Nothing was done, so the attempt is no failure. The action begins again once it is approved. */
function askApprovalAgain(scheduler: SchedulerCore, run: Run, voided: RuntimeError): void {
  const retrying = { id: run.action.id, attempt: run.attempts + 1, error: voided.toJSON(), delay_ms: 0 };
  run.cause = scheduler.deps.append({ type: 'action.retrying', ...retrying }, run.cause);
  releaseGuard(run);
  run.approved = false;
  enqueue(scheduler, run, undefined);
}

/** Until its next attempt, the action uses no capacity. */
function scheduleRetry(scheduler: SchedulerCore, run: Run, failure: RuntimeError): void {
  const { deps } = scheduler;
  const { id } = run.action;
  const attempt = run.attempts + 1;
  const delay_ms = backoffDelay(run.failures, deps.random());
  const error = failure.toJSON();
  run.cause = deps.append({ type: 'action.retrying', id, attempt, error, delay_ms }, run.cause);
  const forget = deps.clock.after(delay_ms, () => {
    enqueue(scheduler, run, undefined);
    scheduler.advance();
  });
  run.stage = { at: 'backing_off', forget };
  releaseGuard(run);
}

/** Declares the actions of a `<foreach>` whose list is there. After a restart, only those that are missing. */
export function expand(scheduler: SchedulerCore, run: Run): void {
  const { deps, graph, state } = scheduler;
  const { action } = run;
  const loop = loopOf(action);
  const list = listOf(scheduler, run);
  const items = list.ok ? itemsOf(loop, list.value, () => listMissing(scheduler, run, loop)) : list;
  if (!items.ok) {
    // Results do not show a `<foreach>` to the model, so its failure is reported as a fault.
    run.cause = deps.append(loopFailed(items.error), run.cause);
    fail(scheduler, run, items.error);
    return;
  }
  if (run.attempts++ === 0) run.startedAt = deps.clock.monotonic();
  const input = { in: items.value };
  const at = deps.append({ type: 'action.started', id: action.id, attempt: run.attempts, input }, run.cause);
  run.cause = at;
  const ids: string[] = [];
  const { joins } = run.node;
  for (const member of iterationActions(loop, items.value, action.references)) {
    ids.push(member.id);
    if (!state.actions.has(member.id))
      addAction(scheduler, member, at, { turn: run.turn, undoes: undefined });
  }
  const isOver = run.turn === 'well' || run.turn === 'broken';
  if (isOver && graph.unseen.size > 0) applyChanges(scheduler, skipUnseen(graph, new Set(ids)), at);
  complete(scheduler, run, { ids });
  applyChanges(scheduler, breakStreamDeadlocks(graph, [], joins), at);
}

/** The error of a list that is not there: either its name is unknown, or the value has no such part. */
function listMissing(
  scheduler: SchedulerCore,
  { action, binding, turn }: Run,
  { in: source }: ForEachLoop,
): RuntimeError {
  const reference = readWholeReference(source);
  if (reference === undefined) return listUnknown(source, turn === 'broken');
  const { name, path } = reference;
  const value = lookupsOf(scheduler, action, binding).whole(name);
  if (value !== undefined) return partUnknown(source, lastPart(`$${name}`, value, path));
  return scheduler.graph.joins.get(newestOf(scheduler.state, name))?.source === 'parallel'
    ? partUnknown(source, `"${name}" is a <parallel>, whose actions have values of their own`)
    : listUnknown(source, turn === 'broken');
}

/** The value of `in`. If the `<foreach>` started before a restart, the value it had then. */
function listOf(scheduler: SchedulerCore, { action, binding, input }: Run): Result<Json> {
  if (input?.in !== undefined) return ok(input.in);
  const resolved = resolveInput(scheduler, action, binding, action.parameters.in ?? null);
  return resolved.ok ? ok(resolved.value.value) : err(resolved.error);
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

/** `{status, output?, error?}` by id, for the ids that the expression names. */
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
    } else if (names.loops.has(newest)) view[id] = viewOfLoop(names, newest);
  }
  return view;
}

function viewOfLoop(names: NameSpace, id: string): unknown {
  const join = names.graph.joins.get(id);
  if (join === undefined || (join.failedBy === undefined && !(join.sealed && join.open.size === 0)))
    return { status: 'running' };
  return join.failedBy === undefined
    ? { status: 'completed', output: outputOf(names, id) }
    : { status: 'failed' };
}
