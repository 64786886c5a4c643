import type { EventBody } from '../../events/event.ts';
import { openReviews } from '../../events/fold-reviews.ts';
import type { SessionState } from '../../events/state.ts';
import type { UsedInHand } from './used-in-hand.ts';

/** What closes all that is open in a session, and then the session itself: it is cancelled. */
export function sessionEndEvents(
  state: SessionState,
  reason: string,
  by: string,
  used: UsedInHand | undefined,
): readonly EventBody[] {
  const withdrawn = openReviews(state).map(
    ({ review }): EventBody => ({
      type: 'review.resolved',
      review,
      answer: 'withdrawn',
      by,
      note: `The session was cancelled: ${reason}`,
    }),
  );
  const ended = [...state.open].map(
    (id): EventBody => ({
      type: 'action.cancelled',
      id,
      reason: `The session was cancelled: ${reason}`,
    }),
  );
  const cut = { code: 'cancelled', message: 'The session was cancelled.', retryable: false };
  return [
    ...withdrawn,
    ...ended,
    ...(state.turnOpen ? [{ type: 'turn.failed', error: cut, ...used } as const] : []),
    { type: 'session.cancelled', reason, by },
  ];
}
