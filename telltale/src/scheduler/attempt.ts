import type { Clock } from '../lib/clock.ts';
import { type RuntimeError, stopWith, toRuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import type { PerformCall, SchedulerDeps } from './edges.ts';
import { timedOut } from './failures.ts';

/** How long a target may take to stop once its signal is aborted; then it is left to itself. */
export const GRACE_MS = 10_000;

export type AttemptOutcome =
  | { readonly ok: true; readonly output: Json }
  | { readonly ok: false; readonly error: RuntimeError };

/** One try of an action, from the call of its target on. */
export interface Attempt {
  readonly controller: AbortController;
  readonly clock: Clock;
  readonly graceMs: number;
  readonly done: (outcome: AttemptOutcome) => void;
  /** Why it was stopped, if it was. */
  stopped: RuntimeError | undefined;
  over: boolean;
  /** Takes back the time-out, or the end of its grace. */
  disarm: (() => void) | undefined;
}

/**
 * Calls the target, now, with the controller's signal. `done` is called once, never before this returns: with what the
 * target gave, or, where it was stopped, when it has settled or its grace is over.
 */
export function attempt(
  deps: Pick<SchedulerDeps, 'clock' | 'perform'>,
  controller: AbortController,
  call: PerformCall,
  timeoutMs: number,
  graceMs: number,
  done: (outcome: AttemptOutcome) => void,
): Attempt {
  const made: Attempt = {
    controller,
    clock: deps.clock,
    graceMs,
    done,
    stopped: undefined,
    over: false,
    disarm: undefined,
  };
  if (timeoutMs < Number.POSITIVE_INFINITY)
    made.disarm = deps.clock.after(timeoutMs, () => stopAttempt(made, timedOut(call.action, timeoutMs)));
  called(deps, call).then(
    (output) => finish(made, { ok: true, output: output ?? null }),
    (thrown: unknown) => finish(made, { ok: false, error: toRuntimeError(thrown) }),
  );
  return made;
}

/** Aborts its signal, once; it then ends with `reason`, whatever the target says. */
export function stopAttempt(attempt: Attempt, reason: RuntimeError): void {
  if (attempt.stopped !== undefined || attempt.over) return;
  attempt.stopped = reason;
  attempt.disarm?.();
  attempt.disarm = attempt.clock.after(attempt.graceMs, () => finish(attempt, { ok: false, error: reason }));
  stopWith(attempt.controller, reason);
}

function finish(attempt: Attempt, outcome: AttemptOutcome): void {
  if (attempt.over) return; // the target came back after its grace
  attempt.over = true;
  attempt.disarm?.();
  attempt.done(attempt.stopped === undefined ? outcome : { ok: false, error: attempt.stopped });
}

function called(deps: Pick<SchedulerDeps, 'perform'>, call: PerformCall): Promise<Json> {
  try {
    return deps.perform(call);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 30_000;
/** Further tries of `on_error: retry` where `retry` is absent. */
const DEFAULT_RETRIES = 3;

/** A model may write any number. */
const MAX_RETRIES = 100;

/** Failures that are the same however often it is tried. */
const HOPELESS: ReadonlySet<string> = new Set([
  'not_permitted',
  'bad_parameters',
  'target_unknown',
  'depth_limit',
]);

/** Further tries after a failure. */
export const retriesOf = ({ retry, on_error }: DeclaredAction): number =>
  Math.min(retry ?? (on_error === 'retry' ? DEFAULT_RETRIES : 0), MAX_RETRIES);

/** Whether there is another try after this many failures. Who asks for retries gets them, also where it says that none would help. */
export const triesAgain = (action: DeclaredAction, failures: number, error: RuntimeError): boolean =>
  failures <= retriesOf(action) && !HOPELESS.has(error.code);

/** Exponential back-off with full jitter: `random` is 0 ≤ x < 1. */
export const delayAfter = (failures: number, random: number): number =>
  Math.round(random * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1)));
