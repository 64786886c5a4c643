import { RuntimeError } from '../kernel/runtime-error.ts';
import { isStopReason } from '../kernel/stop-with.ts';

/** A program's AbortError has the reason for its cause, and a call that was stopped for it may have that one. */
const MAX_CAUSES = 8;

/**
 * Whether something that nobody caught only says that it was stopped as this process had asked: it is the very reason that
 * a signal was aborted with, or an error of an abort that this reason caused. A program that was spawned with the signal
 * of a call and that nobody listens to, a request that nobody waits for any more. What it says counts for nothing: a
 * time-out of somebody else's is an error like any other.
 */
export function isOwnStop(thrown: unknown): boolean {
  try {
    let at = thrown;
    for (let depth = 0; depth < MAX_CAUSES; depth++) {
      if (isStopReason(at)) return true;
      if (!(at instanceof RuntimeError) && !(at instanceof Error && at.name === 'AbortError')) return false;
      at = at.cause;
    }
    return false;
  } catch {
    return false; // something that throws when it is looked at
  }
}
