import type { OpenReview } from '../../events/open-review.ts';
import type { ReviewDetails } from '../../session/reviews/read-review.ts';
import { timeText } from '../view/figures.ts';

/** For a script: times as ISO 8601. */
export const openReviewJson = ({ review, at, due, ...others }: OpenReview) => ({
  review,
  ...others,
  asked: timeText(at),
  ...(due === undefined ? {} : { due: timeText(due) }),
});

export function reviewJson({ decision, voided, parameters: _, ...review }: ReviewDetails) {
  return {
    ...openReviewJson(review),
    ...(decision === undefined ? {} : { decision: { ...decision, at: timeText(decision.at) } }),
    ...(voided === undefined ? {} : { voided: { ...voided, at: timeText(voided.at) } }),
  };
}
