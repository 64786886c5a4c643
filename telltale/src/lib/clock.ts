export type TimeOutcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** It goes on; what comes of it is nobody's to hear any more. */
  | { readonly kind: 'late' };

/** What came of `work` by then; never rejects. It is late as well where `signal` is aborted first. */
export function within<T>(
  clock: Clock,
  limitMs: number,
  work: Promise<T>,
  signal?: AbortSignal,
): Promise<TimeOutcome<T>> {
  return new Promise((resolve) => {
    const end = (outcome: TimeOutcome<T>) => {
      disarm();
      signal?.removeEventListener('abort', onLate);
      resolve(outcome);
    };
    const onLate = () => end({ kind: 'late' });
    const disarm = clock.after(limitMs, onLate);
    signal?.addEventListener('abort', onLate, { once: true });
    work.then(
      (value) => end({ kind: 'done', value }),
      (error: unknown) => end({ kind: 'failed', error }),
    );
    if (signal?.aborted) onLate();
  });
}

/** Time as a port: cores get numbers, edges get a Clock, tests get a simulated one. */
export interface Clock {
  /** Milliseconds since the Unix epoch. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds since an arbitrary point; never goes back. For measuring and for time-outs. */
  monotonic(): number;
  /** Calls `fire` once, `delayMs` from now at the earliest. The returned function cancels it. */
  after(delayMs: number, fire: () => void): () => void;
}

/** Longer delays overflow the timers of Node and browsers, and would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

export function createSystemClock(): Clock {
  const monotonic = () => performance.now();
  return {
    now: () => Date.now(),
    monotonic,
    after(delayMs, fire) {
      const due = monotonic() + (delayMs > 0 ? delayMs : 0); // NaN counts as 0
      let timer: ReturnType<typeof setTimeout>;
      const arm = () => {
        timer = setTimeout(
          () => {
            // Timers may fire up to a millisecond early.
            if (monotonic() < due) arm();
            else fire();
          },
          Math.min(Math.max(0, due - monotonic()), MAX_TIMER_MS),
        );
      };
      arm();
      return () => clearTimeout(timer);
    },
  };
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

/**
 * Executions of one log that may have begun while their start is not committed yet. A batch commits within a few
 * milliseconds, so 32 is more than any run reaches that waits for anything at all; a tool that never yields reaches it at once.
 */
export const MAX_AHEAD = 32;

/**
 * Bounds how far execution runs ahead of the log. Work that may be repeated need not wait for the commit of its start,
 * but a tool that never yields to the event loop would otherwise keep the log from being written at all.
 */
export class RunAhead {
  /** The places on the log of starts that were not committed when they were admitted, oldest first. */
  readonly #starts: number[] = [];

  /** Whether the execution that `seq` starts may begin now. Otherwise it has to wait until `seq` is committed. */
  admits(seq: number, committedSeq: number): boolean {
    const starts = this.#starts;
    while (starts.length > 0 && (starts[0] as number) <= committedSeq) starts.shift();
    if (starts.length >= MAX_AHEAD) return false;
    starts.push(seq);
    return true;
  }
}
