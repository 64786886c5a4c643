import { coveredOf } from '../kernel/approved-files.ts';
import { added } from '../kernel/grow.ts';
import type { EventOf } from './event.ts';
import type { Review, SessionState } from './state.ts';

export function request(state: SessionState, event: EventOf<'review.requested'>): void {
  const { review, action, target, what, because, input, grants, definition, always, replaces, at } = event;
  state.reviews = added(state.reviews, {
    review,
    action,
    target,
    what,
    because,
    input,
    grants,
    at,
    ...(definition === undefined ? {} : { definition }),
    ...(always === undefined ? {} : { always }),
    ...(replaces === undefined ? {} : { replaces }),
    ...coveredOf(event),
  });
}

/** The first answer counts. */
export function resolve(state: SessionState, event: EventOf<'review.resolved'>): void {
  if (state.status === 'waiting') state.status = 'running';
  const { answer, by, note } = event;
  if (answer === 'approved' && event.always === true) stand(state, event);
  state.reviews = state.reviews.map((each) =>
    each.review === event.review && each.answer === undefined
      ? { ...each, answer, by, ...(note === undefined ? {} : { note }) }
      : each,
  );
}

/** A session that was forked has none of the approvals of the one it was forked from. */
function stand(state: SessionState, { review, seq, by }: EventOf<'review.resolved'>): void {
  const asked = state.reviews.find((each) => each.review === review && each.answer === undefined);
  if (asked?.always === undefined || seq <= (state.forkedAt ?? 0)) return;
  const { target, grants, definition, always: offer } = asked;
  const of = definition === undefined ? {} : { definition };
  state.standing = [...(state.standing ?? []), { review, target, grants, offer, by, ...of }];
}

export function voidReview(state: SessionState, { review, changed }: EventOf<'review.voided'>): void {
  state.reviews = state.reviews.map((each) => (each.review === review ? { ...each, voided: changed } : each));
}

/** Its action has ended: nothing is left to ask, and nothing to allow. */
export function forgetReviews(state: SessionState, action: string): void {
  if (state.reviews.length > 0) state.reviews = state.reviews.filter((each) => each.action !== action);
}

export const openReviews = ({ reviews }: Pick<SessionState, 'reviews'>): readonly Review[] =>
  reviews.filter(({ answer }) => answer === undefined);

/** What was asked about an action, if anything was that still counts. */
export const reviewOf = ({ reviews }: Pick<SessionState, 'reviews'>, action: string): Review | undefined =>
  reviews.find((each) => each.action === action && each.answer !== 'withdrawn' && each.voided === undefined);

/** What was approved last of an action and counts no longer. */
export const voidedReviewOf = (
  { reviews }: Pick<SessionState, 'reviews'>,
  action: string,
): Review | undefined => reviews.findLast((each) => each.action === action && each.voided !== undefined);
