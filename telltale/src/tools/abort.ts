import type { Clock } from '../lib/clock.ts';
import { RuntimeError, stopWith } from '../lib/errors.ts';

/** The error of a call whose signal was aborted: the signal's reason, if that is a RuntimeError. */
export function abortError(what: string, signal: AbortSignal): RuntimeError {
  const reason: unknown = signal.reason;
  if (reason instanceof RuntimeError) return reason;
  return new RuntimeError('cancelled', `The call of ${what} was stopped.`, { cause: reason });
}

/** Settles like `work`, or rejects as soon as the signal is aborted, even if `work` continues. */
export async function orAborted<T>(work: Promise<T>, what: string, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    work.catch(() => undefined); // nobody needs its outcome any more
    throw abortError(what, signal);
  }
  let onAbort = () => {};
  const abort = new Promise<never>((_, reject) => {
    onAbort = () => reject(abortError(what, signal));
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, abort]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Runs work with a signal that is also aborted after so many seconds, with code `timeout`. No timeout if undefined. */
export async function withTimeout<T>(
  outer: AbortSignal,
  seconds: number | undefined,
  what: string,
  clock: Clock,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (seconds === undefined) return work(outer);
  const controller = new AbortController();
  const cancel = clock.after(seconds * 1000, () => stopWith(controller, tookTooLong(what, seconds)));
  try {
    return await work(AbortSignal.any([outer, controller.signal]));
  } finally {
    cancel();
  }
}

const tookTooLong = (what: string, seconds: number) =>
  new RuntimeError('timeout', `The call of ${what} took more than ${seconds} s.`, {
    hint: 'Ask for less, or set a longer "timeout".',
    retryable: true,
  });
