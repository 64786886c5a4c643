import { openReviews } from '../../../../../telltale/src/events/fold-reviews.ts';
import { useSessionView } from '../session-view.ts';
import { ActionReview } from './action-review.tsx';

/** What waits for a person, above everything else; as it is now, whatever moment is shown. */
export function WaitingReviews() {
  const { model } = useSessionView();
  const reviews = openReviews(model.stateAt(model.events.length));
  if (reviews.length === 0) return null;
  return (
    <section
      aria-label="Waiting for you"
      className="flex max-h-[40%] shrink-0 flex-col gap-2 overflow-y-auto"
    >
      {reviews.map((review) => (
        <ActionReview key={review.review} review={review} />
      ))}
    </section>
  );
}
