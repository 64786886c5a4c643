import { RuntimeError } from '../kernel/runtime-error.ts';

/** What an action is told to stop for. */
const STOPS: ReadonlySet<string> = new Set(['timeout', 'cancelled']);

/**
 * Whether something that nobody caught only says that it was stopped as this process had asked: a program that was
 * spawned with the signal of a call and that nobody listens to, a request that nobody waits for any more.
 */
export function isOwnStop(thrown: unknown): boolean {
  try {
    if (thrown instanceof RuntimeError) return STOPS.has(thrown.code);
    return thrown instanceof Error && thrown.name === 'AbortError' && thrown.cause instanceof RuntimeError;
  } catch {
    return false; // something that throws when it is looked at
  }
}
