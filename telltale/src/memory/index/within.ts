import type { Clock } from '../../kernel/clock.ts';

type Outcome = { readonly kind: 'done' | 'late' } | { readonly kind: 'failed'; readonly error: unknown };

/** What came of it by then; it goes on in any case, and its failure is never nobody's. */
export function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<Outcome> {
  return new Promise((done) => {
    const cancel = clock.after(ms, () => done({ kind: 'late' }));
    work.then(
      () => {
        cancel();
        done({ kind: 'done' });
      },
      (error: unknown) => {
        cancel();
        done({ kind: 'failed', error });
      },
    );
  });
}
