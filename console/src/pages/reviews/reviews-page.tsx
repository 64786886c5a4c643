import { useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { Page } from '../../shell/page.tsx';
import { useKeys } from '../../shell/use-keys.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { SplitView } from '../../ui/split-view.tsx';
import { nextReview } from './next-review.ts';
import { ReviewDetail } from './review-detail.tsx';
import { ReviewList } from './review-list.tsx';

/** Below this width one sees the list or a review. */
const SIDE_BY_SIDE = '(min-width: 48rem)';

export function ReviewsPage({ review: chosen }: { readonly review: string | undefined }) {
  const { reviews } = useData();
  const view = useReadable(reviews);
  const [, navigate] = useLocation();
  const open = view.open.map(({ review }) => review);
  const answered = view.answered.map(({ review }) => review);
  const all = [...open, ...answered];
  const [first] = all;
  /** Where the chosen one stood while it was open: once it is answered, the next one is what took its place. */
  const place = useRef<number | undefined>(undefined);
  const at = chosen === undefined ? -1 : open.indexOf(chosen);
  if (at >= 0) place.current = at;
  useEffect(() => {
    if (chosen === undefined && first !== undefined && matchMedia(SIDE_BY_SIDE).matches)
      navigate(`/reviews/${first}`, { replace: true });
  }, [chosen, first, navigate]);
  useKeys((key) => {
    if (key !== 'j' && key !== 'k') return false;
    const next = nextReview(key, chosen, { open, answered }, place.current);
    if (next !== undefined) navigate(`/reviews/${next}`, { replace: true });
    return true;
  });
  if (view.kind === 'loading')
    return (
      <Page title="Reviews">
        <Loading label="Reading the reviews" />
      </Page>
    );
  if (all.length === 0 && chosen === undefined)
    return (
      <Page title="Reviews">
        {view.error === undefined ? (
          <EmptyState icon="reviews" title="Nothing is waiting for you.">
            When an agent or a workflow needs a person to approve an action, answer a question or settle a
            disagreement, the review appears here with exactly what would happen.
          </EmptyState>
        ) : (
          <ErrorState title="The reviews could not be read." error={view.error} onRetry={reviews.refresh} />
        )}
      </Page>
    );
  return (
    <Page
      title="Reviews"
      fill
      crumbs={
        chosen === undefined ? undefined : (
          <Link href="/reviews" className="text-accent md:hidden">
            ← All reviews
          </Link>
        )
      }
    >
      {view.error === undefined ? null : (
        <ErrorState title="The reviews could not be read." error={view.error} onRetry={reviews.refresh} />
      )}
      <SplitView
        showsDetail={chosen !== undefined}
        list={<ReviewList open={view.open} answered={view.answered} chosen={chosen} />}
        detail={
          chosen === undefined ? (
            <EmptyState icon="reviews" title="Select a review." />
          ) : (
            <ReviewDetail key={chosen} review={chosen} />
          )
        }
      />
    </Page>
  );
}
