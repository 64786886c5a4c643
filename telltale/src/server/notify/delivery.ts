import type { Clock } from '../../kernel/clock.ts';
import type { OutboxRow } from './outbox-row.ts';

/** What came of a try. */
export type Delivered =
  | { readonly kind: 'sent' }
  /** It may help to try again, `afterMs` from now at the earliest. */
  | { readonly kind: 'failed'; readonly error: string; readonly afterMs?: number }
  | { readonly kind: 'final'; readonly error: string }
  /** The whole channel cannot be used here. */
  | { readonly kind: 'unusable'; readonly error: string };

export interface Parcel {
  readonly row: OutboxRow;
  /** The page that shows what it is about. */
  readonly url: string | undefined;
  /** Aborted when the server closes. */
  readonly signal: AbortSignal;
}

/** What `work` makes of a signal that is aborted after that time, or with the other. */
export async function timed<T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<{ readonly late: boolean; readonly value?: T; readonly thrown?: unknown }> {
  const control = new AbortController();
  let late = false;
  const disarm = clock.after(limitMs, () => {
    late = true;
    control.abort(new Error(`It took more than ${limitMs / 1_000} s.`));
  });
  const onAbort = () => control.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const value = await work(control.signal);
    return { late, value };
  } catch (thrown) {
    return { late, thrown };
  } finally {
    disarm();
    signal.removeEventListener('abort', onAbort);
  }
}
