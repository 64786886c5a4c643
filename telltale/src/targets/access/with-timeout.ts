import type { Clock } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { stopWith } from '../../kernel/stop-with.ts';

/** Runs work with a signal that is also aborted, with code `timeout`, after so many seconds; never where undefined. */
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
