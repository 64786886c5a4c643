import type { Clock } from '../kernel/clock.ts';

/** Resolves when `work` has settled, when the time is over, or when `signal` is aborted; never rejects. */
export function settledWithin(
  limitMs: number,
  work: Promise<unknown>,
  clock: Clock,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      disarm();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const disarm = clock.after(limitMs, end);
    signal?.addEventListener('abort', end, { once: true });
    work.then(end, end);
  });
}
