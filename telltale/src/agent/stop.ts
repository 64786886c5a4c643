import { type RuntimeError, toRuntimeError } from '../lib/errors.ts';
import type { Review } from '../log/state.ts';

/** Why a session stops before it has come to its own end. */
export type StopReason =
  | { readonly kind: 'cancel'; readonly reason: string; readonly by: string }
  /** This process lets go of it: nothing is written, and it can be resumed. */
  | { readonly kind: 'interrupt' }
  /** All of it, with all that it called, waits for people, which the log says: this process lets go of it. */
  | { readonly kind: 'wait'; readonly reviews?: readonly Review[] }
  /** It ends as failed. */
  | { readonly kind: 'fail'; readonly error: RuntimeError }
  /** The log belongs to another process now, or cannot be written. */
  | { readonly kind: 'lost'; readonly error: RuntimeError };

/** The one switch that ends a session's loop, wherever it waits. The first reason counts. Its methods are called on it. */
export interface Stop {
  readonly reason: StopReason | undefined;
  now(reason: StopReason): void;
  /** Called once, when it stops; at once if it has. */
  on(then: WhenStopped): void;
  /** Forgets what `on` was given. */
  off(then: WhenStopped): void;
  /** Both in one: the returned function forgets it. */
  onStop(then: () => void): () => void;
  /** Resolves when `start`'s callback is called, or when the session stops; undefined where that was at once. */
  until(start: StartWait): Promise<void> | undefined;
}

/** What is called; a record that has the method already need not have a function made for it. */
export type WhenStopped = (() => void) | { stopped(): void };

/** Begins a wait, which is over once `done` is called. What it returns is called then, or when the session stops: once. */
export type StartWait = (done: () => void) => (() => void) | undefined;

export const createStop = (): Stop => new SessionStop();

class SessionStop implements Stop {
  reason: StopReason | undefined;
  /** In the order in which they came. */
  private readonly waiting: WhenStopped[] = [];

  now(given: StopReason): void {
    if (this.reason !== undefined) return;
    this.reason = given;
    // One by one: what is forgotten meanwhile is not called.
    for (let then = this.waiting.shift(); then !== undefined; then = this.waiting.shift())
      notifyStopped(then);
  }

  on(then: WhenStopped): void {
    if (this.reason === undefined) this.waiting.push(then);
    else notifyStopped(then);
  }

  off(then: WhenStopped): void {
    const at = this.waiting.indexOf(then);
    if (at !== -1) this.waiting.splice(at, 1);
  }

  onStop(then: () => void): () => void {
    this.on(then);
    return () => this.off(then);
  }

  until(start: StartWait): Promise<void> | undefined {
    if (this.reason !== undefined) return undefined;
    let over = false;
    let after: (() => void) | undefined;
    let wake: (() => void) | undefined;
    const done = () => {
      if (over) return;
      over = true;
      this.off(done);
      after?.();
      wake?.();
    };
    after = start(done);
    if (over) {
      after?.(); // it was not there yet
      return undefined;
    }
    this.on(done);
    if (over) return undefined; // it stopped meanwhile
    return new Promise((resolve) => {
      wake = resolve;
    });
  }
}

function notifyStopped(then: WhenStopped): void {
  if (typeof then === 'function') then();
  else then.stopped();
}

/** Whether this process lets go of the session, and has nothing to say on its log any more. */
export const isReleased = ({ reason }: Pick<Stop, 'reason'>): boolean =>
  reason?.kind === 'interrupt' || reason?.kind === 'lost' || reason?.kind === 'wait';

/** Cancels when `signal` is aborted, for its reason. The returned function forgets it. */
export function cancelOnAbort(stop: Stop, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) return nothing;
  const cancel = () => stop.now({ kind: 'cancel', reason: abortReason(signal), by: 'signal' });
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}

function nothing(): void {
  // there is no signal to forget
}

const abortReason = ({ reason }: AbortSignal): string =>
  reason instanceof Error ? toRuntimeError(reason).message : String(reason);
