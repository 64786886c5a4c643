import { readRunEvents } from '../../engine/read-run.ts';
import type { OpenReview } from '../../events/open-review.ts';
import type { Store } from '../../store/store.ts';
import { readEvents } from '../read-session.ts';
import { reviewClosed } from './review-errors.ts';

/** Throws where the answer on the log is another one than ours. */
export async function mustBeOurs(
  store: Store,
  { review, session, of }: Pick<OpenReview, 'review' | 'session' | 'of'>,
  key: string | undefined,
): Promise<void> {
  const events = await (of === 'run' ? readRunEvents(store, session) : readEvents(store, session));
  for (const event of events) {
    if (event.type !== 'review.resolved' || event.review !== review) continue;
    if (event.key === key) return;
    throw reviewClosed(review, session, event);
  }
}
