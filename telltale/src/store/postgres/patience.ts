import { isBroken } from './describe-postgres-failure.ts';

/** How long a database that went away is waited for, and how the waits between attempts grow. */
export interface Patience {
  readonly patienceMs: number;
  /** Ends all waiting with this error. */
  readonly given: () => unknown;
  /** Before the first: the attempt that has just failed may have met a connection that was cut, no server that is down. */
  readonly pause: (ms: number) => Promise<void>;
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Tries until it works, fails for another reason than a broken connection, or the patience is at an end: then with the
 * last reason. What is tried must be safe to do twice.
 */
export async function patiently<T>(
  { patienceMs, given, pause }: Patience,
  attempt: () => Promise<T>,
): Promise<T> {
  let deadline: number | undefined;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBroken(error)) throw error;
      deadline ??= performance.now() + patienceMs;
      if (performance.now() + wait > deadline) throw error;
    }
    // Not all at once: a server that comes up again is asked by the whole fleet.
    await pause(wait * (0.5 + Math.random() / 2));
    const why = given();
    if (why !== undefined) throw why;
  }
}
