import type { Review } from '../events/state.ts';
import { type RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';

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

/** The one switch that ends a session's loop, wherever it waits. The first reason counts. */
export interface Stop {
  readonly reason: StopReason | undefined;
  now(reason: StopReason): void;
  /** Called once, when it stops; at once if it has. The returned function forgets it. */
  onStop(then: () => void): () => void;
  /** Resolves when `start`'s callback is called, or when the session stops; undefined where that was at once. */
  until(start: (done: () => void) => void): Promise<void> | undefined;
}

export function createStop(): Stop {
  /** In the order in which they came. Few at a time, and one comes and goes with each turn: a Set is made anew for it. */
  const waiting: (() => void)[] = [];
  const forget = (then: () => void) => {
    const at = waiting.indexOf(then);
    if (at === waiting.length - 1) waiting.pop();
    else if (at !== -1) waiting.splice(at, 1);
  };
  // A field, not a getter: objects with a getter of their own each have a shape of their own, and are slow to look at.
  const stop: Stop & { reason: StopReason | undefined } = {
    reason: undefined,
    now(given) {
      if (stop.reason !== undefined) return;
      stop.reason = given;
      for (let then = waiting.shift(); then !== undefined; then = waiting.shift()) then();
    },
    onStop(then) {
      if (stop.reason !== undefined) {
        then();
        return () => undefined;
      }
      waiting.push(then);
      return () => forget(then);
    },
    until(start) {
      if (stop.reason !== undefined) return undefined;
      let over = false;
      let wake: (() => void) | undefined;
      const done = () => {
        if (over) return;
        over = true;
        forget(done);
        wake?.();
      };
      start(done);
      if (over) return undefined;
      waiting.push(done);
      return new Promise((resolve) => {
        wake = resolve;
      });
    },
  };
  return stop;
}

/** Whether this process lets go of the session, and has nothing to say on its log any more. */
export const isLetGo = ({ reason }: Pick<Stop, 'reason'>): boolean =>
  reason?.kind === 'interrupt' || reason?.kind === 'lost' || reason?.kind === 'wait';

/** Cancels when `signal` is aborted, for its reason. The returned function forgets it. */
export function cancelOnAbort(stop: Stop, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) return () => undefined;
  const cancel = () => stop.now({ kind: 'cancel', reason: abortReason(signal), by: 'signal' });
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}

const abortReason = ({ reason }: AbortSignal): string =>
  reason instanceof Error ? toRuntimeError(reason).message : String(reason);
