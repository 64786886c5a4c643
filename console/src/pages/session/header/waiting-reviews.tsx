import { openReviews } from '../../../../../telltale/src/events/fold-reviews.ts';
import { useReadable } from '../../../data/readable.ts';
import { useData } from '../../../data/use-data.ts';
import { RunReview } from '../../reviews/run-review.tsx';
import { ownLead } from '../model/own-lead.ts';
import { useSessionView } from '../session-view.ts';
import { ActionReview } from './action-review.tsx';

/**
 * What the session and its workflow runs ask a person, above everything else. It shows the reviews that are open now,
 * whatever moment the page shows.
 */
export function WaitingReviews() {
  const { model } = useSessionView();
  const { open } = useReadable(useData().reviews);
  const state = model.stateAt(model.events.length);
  const reviews = openReviews(state);
  const runs = new Set([ownLead(state), ...state.runs.map(({ run }) => run)]);
  const ofRuns = open.filter(({ of, session }) => of === 'run' && runs.has(session));
  if (reviews.length + ofRuns.length === 0) return null;
  return (
    <section
      aria-label="Waiting for you"
      className="flex shrink-0 flex-col gap-2 lg:max-h-[40%] lg:overflow-y-auto"
    >
      {reviews.map((review) => (
        <ActionReview key={review.review} review={review} />
      ))}
      {ofRuns.map((review) => (
        <RunReview key={review.review} review={review} />
      ))}
    </section>
  );
}
