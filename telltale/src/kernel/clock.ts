/** Time as a port: cores get numbers, edges get a Clock, tests get a simulated one. */
export interface Clock {
  /** Milliseconds since the Unix epoch. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds since an arbitrary point; never goes back. For measuring and for time-outs. */
  monotonic(): number;
  /** Calls `fire` once, `delayMs` from now at the earliest. The returned function cancels it. */
  after(delayMs: number, fire: () => void): () => void;
}

/** Longer delays overflow Node's and browsers' timers and would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

export function createSystemClock(): Clock {
  const monotonic = () => performance.now();
  const after = (delayMs: number, fire: () => void): (() => void) => {
    const left = Math.max(0, delayMs);
    const alarm: Alarm = { due: monotonic() + left, fire, timer: undefined };
    arm(alarm, left);
    return () => clearTimeout(alarm.timer);
  };
  return { now: () => Date.now(), monotonic, after };
}

/** A record, of which the timer is told: every step sets two, and closures of each would be twice its size. */
interface Alarm {
  readonly due: number;
  readonly fire: () => void;
  timer: ReturnType<typeof setTimeout> | undefined;
}

function arm(alarm: Alarm, left: number): void {
  alarm.timer = setTimeout(ring, Math.min(left, MAX_TIMER_MS), alarm);
}

/** Timers may also fire up to a millisecond early. */
function ring(alarm: Alarm): void {
  const left = alarm.due - performance.now();
  if (left > 0) arm(alarm, left);
  else alarm.fire();
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
