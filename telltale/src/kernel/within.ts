import type { Clock } from './clock.ts';

export type Outcome<T> =
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
): Promise<Outcome<T>> {
  return new Promise((resolve) => {
    const end = (outcome: Outcome<T>) => {
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
