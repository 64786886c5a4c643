import type { MeteredReviews } from './metered-streams.ts';

/** Those of these reviews that are open; others may be among them. */
export type StillOpen = (reviews: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Takes out of the count what others have answered. Nothing is asked where nothing is open, and those who ask at the same
 * time share one look. Where it fails the figures stay: whoever works on the store says what is wrong with it.
 */
export function createReviewLook(
  meters: readonly MeteredReviews[],
  stillOpen: StillOpen | undefined,
): () => Promise<void> {
  let looking: Promise<void> | undefined;
  const look = async (asked: readonly string[], find: StillOpen): Promise<void> => {
    const open = await find(asked);
    const gone = asked.filter((review) => !open.has(review));
    for (const meter of meters) meter.answeredElsewhere(gone);
  };
  return async () => {
    const asked = meters.flatMap((meter) => meter.asked());
    if (stillOpen === undefined || asked.length === 0) return;
    looking ??= look(asked, stillOpen)
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
      });
    await looking;
  };
}
