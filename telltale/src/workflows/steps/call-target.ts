import { enterGuard } from '../../engine/in-flight.ts';
import type { FreeSlot } from '../../engine/slots.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { usageOf } from '../../log/event.ts';
import type { RunState } from '../../log/run-state.ts';
import type { Usage } from '../../log/session-events.ts';
import { withTimeout } from '../../tools/abort.ts';
import { approvalScope, changesSince } from '../../tools/access/approval-need.ts';
import { APPROVAL_VOID } from '../../tools/definition/approved-files.ts';
import type { ApprovalNeed, Target, TargetCall, TargetKind } from '../../tools/target.ts';
import { unknownTarget } from '../../tools/target-deps.ts';
import type { PreparedStep, StepAttempt, StepInstance } from '../step-executor.ts';
import { askPerson } from './ask-person.ts';
import type { StepContext, StepDeps } from './step-deps.ts';
import { stepWhat } from './step-deps.ts';

/**
 * Prepares a step that calls a target. If the call needs approval, the run can be released until then, and
 * the step's time counts from the approval.
 */
export function prepareTargetStep(
  target: StepTarget,
  input: JsonObject,
  repeatable: boolean,
  place: StepInstance,
  context: StepContext,
): PreparedStep | Promise<PreparedStep> {
  return target.needs === undefined
    ? prepareUngated(target, input, repeatable, context)
    : prepareWithApproval(target, input, repeatable, place, context);
}

const prepareUngated = (
  target: StepTarget,
  input: JsonObject,
  repeatable: boolean,
  context: StepContext,
): PreparedStep => ({
  input,
  repeatable,
  ...(target.timeoutMs === undefined ? {} : { timeoutMs: target.timeoutMs }),
  ...entered(target, repeatable, context),
});

/** Waits for what a call needs before the step is on the log. */
function entered(
  target: StepTarget,
  repeatable: boolean,
  context: StepContext,
): Pick<PreparedStep, 'enter' | 'enterNow' | 'run'> {
  const { slots } = target;
  const once = repeatable ? undefined : context.guardNonIdempotent;
  if (slots === undefined)
    return {
      ...(once === undefined ? {} : { enterNow: once, enter: (signal) => enterGuard(once, signal) }),
      run: (call) => callTarget(target, call, context),
    };
  return {
    async enter(signal) {
      const free = await context.takeSlot(slots.key, slots.max, signal);
      try {
        const leave = once && (await enterGuard(once, signal));
        return () => {
          free();
          leave?.();
        };
      } catch (thrown) {
        free();
        throw thrown;
      }
    },
    run: (call) => callTarget({ ...target, slots: undefined }, call, context),
  };
}

async function prepareWithApproval(
  target: StepTarget,
  input: JsonObject,
  repeatable: boolean,
  place: StepInstance,
  context: StepContext,
): Promise<PreparedStep> {
  const { timeoutMs } = target;
  const need = await target.needs?.(input, { agent: await viewFor(target, context) });
  if (need === undefined) return prepareUngated(target, input, repeatable, context);
  const ms = place.step.timeout?.ms ?? timeoutMs;
  const timed: StepTarget = {
    ...target,
    run: (call) =>
      withTimeout(call.signal, ms && ms / 1000, stepWhat(place), context.clock, (signal) =>
        target.run({ ...call, signal }),
      ),
  };
  const runOnce = async (call: StepAttempt) => {
    let leave: FreeSlot | undefined;
    const onApproved = async () => {
      leave = context.guardNonIdempotent && (await enterGuard(context.guardNonIdempotent, call.signal));
      await markAmbiguous(call, context);
    };
    try {
      return await callTarget(timed, call, context, { onApproved });
    } finally {
      leave?.();
    }
  };
  return {
    input,
    repeatable: true,
    timesItself: true,
    run: repeatable ? (call) => callTarget(timed, call, context) : runOnce,
  };
}

const viewFor = async ({ kind }: StepTarget, { scope }: StepContext): Promise<() => JsonObject> => {
  const view = kind === 'tool' ? await scope.agent() : {};
  return () => view;
};

/** Records before the call that a crash would leave its outcome unknown. */
async function markAmbiguous(
  { address: step, attempt, input, cause }: StepAttempt,
  { journal }: StepContext,
): Promise<void> {
  if (!journal.state.steps.has(step)) return; // a compensation is not a step
  journal.append({ type: 'step.started', step, attempt, input, repeatable: false }, cause);
  await journal.flushed();
}

/** The target of a call. Throws if it does not exist or the parameters are wrong. */
export function checkedTarget(
  kind: TargetKind,
  name: string,
  input: JsonObject,
  { targets }: Pick<StepDeps, 'targets'>,
): Target {
  const target = targets.find(kind, name);
  if (target === undefined) throw unknownTarget(kind, name, targets);
  const wrong = target.check(input);
  if (wrong !== undefined) throw wrong;
  return target;
}

/** Whether a call may be repeated if a crash leaves its outcome unknown. */
export const isRepeatable = (target: Target, input: JsonObject): boolean =>
  target.idempotentFor?.(input) ?? target.idempotent;

/** The parts of a target that a step calls. Without a kind it is a program of the step itself. */
export interface StepTarget extends Pick<Target, 'needs' | 'definition' | 'run' | 'timeoutMs' | 'slots'> {
  readonly kind?: TargetKind;
}

interface CallTargetOptions extends Pick<TargetCall, 'model'> {
  /** Called between the approval and the call. */
  readonly onApproved?: () => Promise<void>;
}

/** Calls a target for an attempt of a step, after any approval and once a slot is free. */
export function callTarget(
  target: StepTarget,
  call: StepAttempt,
  context: StepContext,
  options: CallTargetOptions = {},
): Promise<Json> {
  // Other targets do not use it, and reading a session's log is expensive.
  const mayLook = target.kind === 'tool' || target.kind === 'llm';
  const agent = mayLook ? context.scope.ownAgent : noAgent;
  if (agent === undefined || target.needs !== undefined || target.slots !== undefined)
    return callLater(target, mayLook, call, context, options);
  call.signal.throwIfAborted();
  return target.run(targetCall(call, agent, context, options));
}

async function callLater(
  target: StepTarget,
  mayLook: boolean,
  call: StepAttempt,
  context: StepContext,
  { onApproved, model }: CallTargetOptions,
): Promise<Json> {
  const agent = mayLook ? await context.scope.agent() : {};
  let hasEntered = false;
  for (;;) {
    const granted = await approval(target, agent, call, context);
    const { slots } = target;
    const free = slots && (await context.takeSlot(slots.key, slots.max, call.signal));
    try {
      if (granted !== undefined && !hasEntered) await onApproved?.();
      hasEntered = true;
      call.signal.throwIfAborted();
      return await target.run(targetCall(call, () => agent, context, { granted, model }));
    } catch (thrown) {
      // Nothing was done, because the approved call has changed. Ask again.
      if (toRuntimeError(thrown).code !== APPROVAL_VOID || granted === undefined) throw thrown;
    } finally {
      free?.();
    }
  }
}

/** The view of the agent for targets that may not see it. */
export const noAgent = (): JsonObject => ({});

/** The call of a target for an attempt of a step. */
export function targetCall(
  call: StepAttempt,
  agent: () => JsonObject,
  { journal, costOf, noted }: StepContext,
  { granted, model: asked }: Pick<TargetCall, 'granted' | 'model'> = {},
): TargetCall {
  const { address, input, attempt, signal, idempotencyKey, cause } = call;
  return {
    session: journal.state.id,
    id: address,
    input,
    attempt,
    signal,
    idempotencyKey,
    agent,
    granted,
    model: asked,
    progress() {},
    charge(used, model) {
      const { cached } = used;
      const usage: Usage = {
        ...usageOf(used),
        ...(cached === undefined ? {} : { cached }),
      };
      const cost_usd = costOf(used, model);
      journal.append({ type: 'model.used', step: address, model: model.id, usage, cost_usd }, cause);
    },
    note(what) {
      if (noted.has(what)) return;
      noted.add(what);
      journal.append({ type: 'audit', who: 'runtime', what }, cause);
    },
  };
}

/**
 * The grants that a person approved for this call. Undefined if no approval is needed. Rejects if the person
 * refused. The approval is for exactly this call and holds for all of its attempts. If the call changes, it
 * is asked for again.
 */
async function approval(
  target: Pick<Target, 'needs' | 'definition'>,
  agent: JsonObject,
  call: StepAttempt,
  deps: StepDeps,
): Promise<readonly string[] | undefined> {
  const { journal } = deps;
  for (;;) {
    const need = await target.needs?.(call.input, { agent: () => agent });
    if (need === undefined) return undefined;
    const bound = approvalScope(target, need, call.input);
    const known = lastCall(journal.state, call.address);
    const changed = known === undefined ? [] : changesSince(known.call, bound);
    const isApproved = known?.answer === 'approved' && known.voided === undefined;
    if (isApproved && changed.length === 0) return bound.grants;
    if (isApproved && changed.length > 0)
      journal.append({ type: 'review.voided', review: known.review, changed }, call.cause);
    const isOpen = known?.answer === undefined;
    const question = {
      prompt: need.what,
      options: ['approve', 'reject'],
      call: { ...bound, because: need.because },
      ...(known !== undefined && changed.length > 0 && (isApproved || isOpen)
        ? { replaces: { review: known.review, changed } }
        : {}),
    };
    const end = await askPerson(question, call, deps);
    if (end.answer !== 'approved') throw refused(need, end.by, end.note);
    call.signal.throwIfAborted();
  }
}

/** The last approval request for the call of a step. */
function lastCall({ reviews }: Pick<RunState, 'reviews'>, step: string) {
  const found = reviews.findLast(
    (each) => each.step === step && each.kind === undefined && each.call !== undefined,
  );
  return found?.call === undefined ? undefined : { ...found, call: found.call };
}

const refused = ({ target, because }: ApprovalNeed, by: string, note: string | undefined) =>
  new RuntimeError(
    'not_permitted',
    `A person refused the call of ${target} (${by})${note === undefined ? '' : `: ${note.replace(/\.+$/, '')}`}.`,
    { hint: `It is asked because of "${because}".` },
  );
