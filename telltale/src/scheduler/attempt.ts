import type { Clock } from '../lib/clock.ts';
import { type RuntimeError, stopWith, toRuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import { timedOut } from './faults.ts';
import type { PerformCall, SchedulerDeps, TargetTraits } from './scheduler-deps.ts';

/** How long a target may take to stop once its signal is aborted. After that the scheduler no longer waits for it. */
export const GRACE_MS = 10_000;

export type AttemptOutcome =
  | { readonly ok: true; readonly output: Json }
  | { readonly ok: false; readonly error: RuntimeError };

/** One attempt of an action: a call of its target, with a timeout. */
export class Attempt {
  readonly #clock: Clock;
  readonly #controller: AbortController;
  readonly #graceMs: number;
  readonly #done: (outcome: AttemptOutcome) => void;
  /** Why it was stopped, if it was. */
  #stopped: RuntimeError | undefined;
  #isOver = false;
  /** Cancels the timeout, or the timer that ends the grace period. */
  #disarm: (() => void) | undefined;

  /**
   * Calls the target at once. `done` is called once, never before the constructor returns: with the target's result, or
   * after `stop` when the target has settled or its grace period is over.
   */
  constructor(
    deps: Pick<SchedulerDeps, 'clock' | 'perform'>,
    call: Omit<PerformCall, 'signal'>,
    limits: { readonly timeoutMs: number; readonly graceMs: number },
    done: (outcome: AttemptOutcome) => void,
  ) {
    const { timeoutMs, graceMs } = limits;
    this.#clock = deps.clock;
    this.#controller = new AbortController();
    this.#graceMs = graceMs;
    this.#done = done;
    if (timeoutMs < Number.POSITIVE_INFINITY)
      this.#disarm = this.#clock.after(timeoutMs, () => this.stop(timedOut(call.action, timeoutMs)));
    callTarget(deps, { ...call, signal: this.#controller.signal }).then(
      (output) => this.#finish({ ok: true, output: output ?? null }),
      (thrown: unknown) => this.#finish({ ok: false, error: toRuntimeError(thrown) }),
    );
  }

  /** Aborts the signal, once. The attempt then fails with `reason`, whatever the target returns. */
  stop(reason: RuntimeError): void {
    if (this.#stopped !== undefined || this.#isOver) return;
    this.#stopped = reason;
    this.#disarm?.();
    this.#disarm = this.#clock.after(this.#graceMs, () => this.#finish({ ok: false, error: reason }));
    stopWith(this.#controller, reason);
  }

  #finish(outcome: AttemptOutcome): void {
    if (this.#isOver) return; // the target settled after its grace period
    this.#isOver = true;
    this.#disarm?.();
    this.#done(this.#stopped === undefined ? outcome : { ok: false, error: this.#stopped });
  }
}

function callTarget(deps: Pick<SchedulerDeps, 'perform'>, call: PerformCall): Promise<Json> {
  try {
    return deps.perform(call);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/** Whether a call may be made twice. Then it need not wait for its record, and runs again after a crash. */
export const isIdempotent = (traits: TargetTraits, input: JsonObject): boolean =>
  traits.idempotentFor?.(input) ?? traits.idempotent;

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 30_000;
/** How often `on_error: retry` retries if `retry` is absent. */
const DEFAULT_RETRIES = 3;

/** The limit of `retry`: a model may write any number. */
const MAX_RETRIES = 100;

/** Failures that no retry can change. */
const NOT_RETRYABLE: ReadonlySet<string> = new Set([
  'not_permitted',
  'bad_parameters',
  'target_unknown',
  'depth_limit',
]);

/** How often an action is retried after failures. */
export const retriesOf = ({ retry, on_error }: DeclaredAction): number =>
  Math.min(retry ?? (on_error === 'retry' ? DEFAULT_RETRIES : 0), MAX_RETRIES);

/** Whether to try again after this many failures. An action that asks for retries gets them even for errors marked as not retryable. */
export const shouldRetry = (action: DeclaredAction, failures: number, error: RuntimeError): boolean =>
  failures <= retriesOf(action) && !NOT_RETRYABLE.has(error.code);

/** Exponential backoff with full jitter. `random`: 0 ≤ x < 1. */
export const backoffDelay = (failures: number, random: number): number =>
  Math.round(random * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1)));
