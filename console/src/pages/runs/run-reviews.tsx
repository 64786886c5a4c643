import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { RunReview } from '../reviews/run-review.tsx';
import { useRunView } from './run-view.ts';

/** What the run asks of a person now, to be answered here. */
export function RunReviews() {
  const { id } = useRunView();
  const { open } = useReadable(useData().reviews);
  const own = open.filter((review) => review.session === id);
  if (own.length === 0) return null;
  return (
    <section aria-label="Waiting for a person" className="flex shrink-0 flex-col gap-2">
      {own.map((review) => (
        <RunReview key={review.review} review={review} />
      ))}
    </section>
  );
}
