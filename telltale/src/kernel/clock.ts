import { createAlarms } from './alarms.ts';

/** Time as a port: cores get numbers, edges get a Clock, tests get a simulated one. */
export interface Clock {
  /** Milliseconds since the Unix epoch. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds since an arbitrary point; never goes back. For measuring and for time-outs. */
  monotonic(): number;
  /** Calls `fire` once, `delayMs` from now at the earliest. The returned function cancels it. */
  after(delayMs: number, fire: () => void): () => void;
}

export function createSystemClock(): Clock {
  const monotonic = () => performance.now();
  return { now: () => Date.now(), monotonic, after: createAlarms(monotonic) };
}

/** Resolves after `delayMs` on `clock`; rejects with the signal's reason when it is aborted first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
