import type { FreeSlot } from '../../engine/slots.ts';
import { type RuntimeError, stopWith, toRuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { StepState } from '../../log/run-state.ts';
import type { SimpleStep } from '../../manifest/schema/steps/step.ts';
import type { PreparedStep } from '../step-executor.ts';
import { cancelledBecause, GRACE_MS, interrupted, MAX_PAUSE_MS, timedOut } from './failures.ts';
import { cancel, complete, fail, failAtOnce, type StepInProgress } from './settle-step.ts';
import type { Branch, ListOutcome } from './walk.ts';
import { type ListContext, notBegun, RELEASED, type Walk } from './walk.ts';

/** Runs a simple step from where the log ends. */
export async function runSimpleStep(
  walk: Walk,
  step: SimpleStep,
  address: string,
  place: ListContext,
): Promise<ListOutcome> {
  const known = walk.state.steps.get(address);
  if (known !== undefined && isAmbiguous(known)) return interrupt(walk, step, known);
  const { branch, locals } = place;

  let ready: PreparedStep;
  try {
    ready = await walk.executors.ready({ step, address, locals });
  } catch (thrown) {
    if (branch.stopped !== undefined) return notBegun(branch);
    const error = toRuntimeError(thrown).toJSON();
    if (known === undefined) return failAtOnce(walk, step, address, error, place.cause);
    return fail(walk, resumed(step, known), error);
  }
  if (branch.stopped !== undefined)
    return known === undefined ? notBegun(branch) : cancel(walk, resumed(step, known), branch.stopped);

  const pinned = known?.again === true ? undefined : known;
  const repeatable = pinned?.repeatable ?? ready.repeatable;
  const input = pinned?.input ?? ready.input;
  let startedAt = known?.startedAt ?? walk.clock.now();
  let triedAt = known?.triedAt ?? startedAt;
  let attempts = known?.attempts ?? 1;
  let cause = known?.cause;
  let begin = known === undefined;
  if (known?.status === 'retrying') {
    await pauseUntil(walk, branch, known.due ?? 0, address);
    if (branch.stopped !== undefined) return cancel(walk, resumed(step, known), branch.stopped);
    attempts++;
    begin = true;
  }

  for (;;) {
    let free: FreeSlot | undefined;
    if (ready.enter !== undefined) {
      free = ready.enterNow?.();
      if (free === undefined) {
        const before = cause && {
          step,
          address,
          startedAt,
          cause,
          attempts: begin ? attempts - 1 : attempts,
        };
        const entered = await enter(walk, step, address, place, ready.enter, before);
        if (typeof entered !== 'function') return entered;
        free = entered;
      }
    }
    let begun: StepInProgress;
    let tried: AttemptEnd;
    try {
      if (begin) {
        triedAt = walk.clock.now();
        if (cause === undefined) startedAt = triedAt;
        cause = walk.write(
          { type: 'step.started', step: address, attempt: attempts, input, repeatable },
          place.cause,
        );
        if (!repeatable || !walk.ahead.admits(cause.seq, walk.journal.committedSeq()))
          await walk.journal.flushed();
      }
      if (walk.journal.mayBeLost?.() === true) await walk.journal.flushed();
      begun = { step, address, startedAt, attempts, cause: cause ?? walk.state.started };
      if (branch.stopped !== undefined) return cancel(walk, begun, branch.stopped);
      tried = await tryOnce(walk, place, ready, { begun, input, triedAt, repeatable, step });
    } finally {
      free?.();
    }
    if (tried.kind === 'done') return complete(walk, begun, tried.output);
    if (tried.kind === 'stopped') return cancel(walk, begun, tried.reason);
    const error = tried.error.toJSON();
    const { retry } = step;
    if (retry === undefined || attempts > retry.max) return fail(walk, begun, error);
    const due = walk.clock.now() + pauseAfter(attempts, retry.backoff.ms, walk.random());
    walk.write({ type: 'step.retrying', step: address, attempt: attempts + 1, error, due }, begun.cause);
    await pauseUntil(walk, branch, due, address);
    if (branch.stopped !== undefined) return cancel(walk, begun, branch.stopped);
    attempts++;
    begin = true;
  }
}

/**
 * Waits for the step's slot, or returns how the step ends without one. `before`: its last attempt, if there
 * was one.
 */
async function enter(
  walk: Walk,
  step: SimpleStep,
  address: string,
  { branch, cause }: ListContext,
  asked: NonNullable<PreparedStep['enter']>,
  before: StepInProgress | undefined,
): Promise<FreeSlot | ListOutcome> {
  try {
    const free = await enterSlot(branch, asked);
    if (free !== undefined) return free;
    return before === undefined ? notBegun(branch) : cancel(walk, before, branch.stopped ?? 'cancelled');
  } catch (thrown) {
    if (thrown === RELEASED) throw thrown;
    const error = toRuntimeError(thrown).toJSON();
    return before === undefined ? failAtOnce(walk, step, address, error, cause) : fail(walk, before, error);
  }
}

interface SimpleStepTry {
  readonly begun: StepInProgress;
  readonly step: SimpleStep;
  readonly input: PreparedStep['input'];
  readonly triedAt: number;
  readonly repeatable: boolean;
}

function tryOnce(
  walk: Walk,
  { branch, locals }: ListContext,
  ready: PreparedStep,
  { begun, step, input, triedAt, repeatable }: SimpleStepTry,
): Promise<AttemptEnd> {
  const { address, attempts, cause } = begun;
  const timeoutMs = ready.timesItself === true ? undefined : (step.timeout?.ms ?? ready.timeoutMs);
  const idempotencyKey = `${walk.state.id}:${address}`;
  return attempt(walk, {
    address,
    branch,
    timeoutMs,
    triedAt,
    maySuspend: repeatable,
    run: (signal, suspend) =>
      ready.run({ step, address, locals, input, attempt: attempts, signal, idempotencyKey, cause, suspend }),
  });
}

const isAmbiguous = ({ status, repeatable }: StepState): boolean =>
  status === 'interrupted' || (status === 'running' && !repeatable);

function interrupt(walk: Walk, step: SimpleStep, known: StepState): ListOutcome {
  const begun = resumed(step, known);
  const { address, attempts, cause } = begun;
  if (known.status === 'running')
    walk.write({ type: 'step.interrupted', step: address, attempt: attempts }, cause);
  return fail(walk, begun, interrupted(address).toJSON());
}

const resumed = (step: SimpleStep, known: StepState): StepInProgress => ({
  step,
  address: known.step,
  startedAt: known.startedAt,
  attempts: known.attempts,
  cause: known.cause,
});

/** Waits for the slot of a call. Undefined if the branch was stopped first. Then no slot is held. */
async function enterSlot(
  branch: Branch,
  enter: NonNullable<PreparedStep['enter']>,
): Promise<FreeSlot | undefined> {
  const controller = new AbortController();
  const offStop = branch.onStop((reason) => stopWith(controller, cancelledBecause(reason)));
  let free: FreeSlot | undefined;
  try {
    free = await enter(controller.signal);
  } catch (thrown) {
    if (branch.stopped === undefined) throw thrown;
  } finally {
    offStop();
  }
  if (branch.stopped === undefined) return free;
  free?.();
  return undefined;
}

export type AttemptEnd =
  | { readonly kind: 'done'; readonly output: Json }
  | { readonly kind: 'failed'; readonly error: RuntimeError }
  | { readonly kind: 'stopped'; readonly reason: string };

export interface AttemptOptions {
  readonly address: string;
  readonly branch: Branch;
  readonly timeoutMs: number | undefined;
  /** When the attempt started, by the log. While suspended, its time counts from there. */
  readonly triedAt: number;
  /** Whether the run may be released during the attempt. */
  readonly maySuspend: boolean;
  run(signal: AbortSignal, suspend: (waitsFor: string, due?: number) => () => void): Promise<Json>;
}

/**
 * Runs one attempt. A stopped or timed-out attempt ends when it has settled or its grace period is over, and
 * counts as stopped in either case.
 */
export function attempt({ clock, activity }: Walk, tried: AttemptOptions): Promise<AttemptEnd> {
  const { address, branch, timeoutMs } = tried;
  return new Promise((resolve) => {
    const controller = new AbortController();
    let ending: AttemptEnd | undefined;
    let over = false;
    let resumeActivity: (() => void) | undefined;
    let disarm: (() => void) | undefined;

    const resume = () => {
      resumeActivity?.();
      resumeActivity = undefined;
    };
    const finish = (outcome: AttemptEnd) => {
      if (over) return; // it settled after its grace period
      over = true;
      disarm?.();
      offStop();
      resume();
      resolve(ending ?? outcome);
    };
    const end = (as: AttemptEnd, reason: RuntimeError) => {
      if (ending !== undefined || over) return;
      ending = as;
      disarm?.();
      resume();
      disarm = clock.after(GRACE_MS, () => finish(as));
      stopWith(controller, reason);
    };
    const arm = (delayMs: number) => {
      disarm?.();
      disarm = clock.after(delayMs, () => {
        const error = timedOut(address, timeoutMs ?? 0);
        end({ kind: 'failed', error }, error);
      });
    };
    const suspend = (waitsFor: string, due?: number) => {
      if (over || ending !== undefined || !tried.maySuspend) return ignored;
      resume();
      const until = timeoutMs === undefined ? undefined : tried.triedAt + timeoutMs;
      if (until !== undefined) arm(Math.max(0, until - clock.now()));
      const first = earliest(due, until, branch.deadline);
      resumeActivity = activity.suspend({ for: waitsFor, ...(first === undefined ? {} : { due: first }) });
      return resumeActivity;
    };

    const offStop = branch.onStop((reason) => end({ kind: 'stopped', reason }, cancelledBecause(reason)));
    if (timeoutMs !== undefined) arm(timeoutMs);
    called(tried, controller.signal, suspend).then(
      (output) => finish({ kind: 'done', output: output ?? null }),
      (thrown: unknown) => finish({ kind: 'failed', error: toRuntimeError(thrown) }),
    );
  });
}

function called(
  tried: AttemptOptions,
  signal: AbortSignal,
  suspend: Parameters<AttemptOptions['run']>[1],
): Promise<Json> {
  try {
    return tried.run(signal, suspend);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function ignored(): void {
  // an attempt that is ending, or that must not become ambiguous, is not suspended
}

/**
 * The pause after a number of failures. It doubles each time, and is shortened randomly by up to a half to
 * spread retries.
 */
export function pauseAfter(failures: number, firstMs: number, random: number): number {
  const longest = Math.max(firstMs, MAX_PAUSE_MS);
  const whole = Math.min(longest, firstMs * 2 ** (failures - 1));
  return Math.round(whole * (1 - random / 2));
}

/** Resolves at `due`, or once the branch is stopped. The run may be released meanwhile. */
export function pauseUntil(
  { clock, activity }: Walk,
  branch: Branch,
  due: number,
  address: string,
): Promise<void> {
  const left = due - clock.now();
  if (left <= 0 || branch.stopped !== undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const first = branch.deadline === undefined ? due : Math.min(due, branch.deadline);
    const resume = activity.suspend({ for: `retry of ${address}`, due: first });
    const go = () => {
      disarm();
      offStop();
      resume();
      resolve();
    };
    const disarm = clock.after(left, go);
    const offStop = branch.onStop(go);
  });
}
