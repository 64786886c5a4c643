import { useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';
import type { ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { identityText } from '../../../../telltale/src/lib/ids.ts';
import { visibleText } from '../../../../telltale/src/lib/text.ts';
import { useReadable } from '../../data/readable.ts';
import type { InboxView, Resolution } from '../../data/review-inbox.ts';
import { useData } from '../../data/use-data.ts';
import { Page } from '../../shell/page.tsx';
import { useKeys } from '../../shell/use-keys.ts';
import { cx } from '../../ui/class-names.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Kbd } from '../../ui/kbd.tsx';
import { Loading } from '../../ui/loading.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { SplitView } from '../../ui/split-view.tsx';
import { nextReview } from './next-review.ts';
import { ReviewDetail } from './review-detail.tsx';
import { KIND_LABELS, questionOf, resolutionWords } from './review-words.ts';

/** On a narrower screen, either the list or a review is visible. */
const SIDE_BY_SIDE = '(min-width: 48rem)';

export function ReviewsPage({ review: chosen }: { readonly review: string | undefined }) {
  const { reviews } = useData();
  const view = useReadable(reviews);
  const [, navigate] = useLocation();
  const open = view.open.map(({ review }) => review);
  const answered = view.answered.map(({ review }) => review);
  const all = [...open, ...answered];
  const [first] = all;
  /**
   * The position of the selected review while it was open. After the answer, the review at this position comes next.
   */
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

interface ReviewListProps {
  readonly open: readonly ReviewInfo[];
  readonly answered: InboxView['answered'];
  readonly chosen: string | undefined;
}

const ReviewList = ({ open, answered, chosen }: ReviewListProps) => (
  <div className="flex min-h-0 flex-1 flex-col rounded-lg border border-line bg-surface">
    <div className="min-h-0 flex-1 overflow-y-auto">
      {open.length === 0 ? (
        <p className="p-4 text-ink-soft">No more reviews are waiting for you.</p>
      ) : (
        <ul aria-label="Waiting" className="divide-y divide-line">
          {open.map((review) => (
            <ReviewLine key={review.review} review={review} chosen={review.review === chosen} />
          ))}
        </ul>
      )}
      {answered.length === 0 ? null : (
        <>
          <h2 className="border-y border-line bg-sunken px-3 py-1.5 text-small font-semibold text-ink-faint">
            Answered while you were here
          </h2>
          <ul className="divide-y divide-line">
            {answered.map((review) => (
              <ReviewLine
                key={review.review}
                review={review}
                resolution={review.resolution}
                chosen={review.review === chosen}
              />
            ))}
          </ul>
        </>
      )}
    </div>
    <p className="hidden shrink-0 items-center gap-1 border-t border-line px-3 py-2 text-small text-ink-faint md:flex">
      <Kbd>j</Kbd>
      <Kbd>k</Kbd> move
      <span className="w-2" />
      <Kbd>a</Kbd> approve
      <span className="w-2" />
      <Kbd>r</Kbd> reject
      <span className="w-2" />
      <Kbd>e</Kbd> note
    </p>
  </div>
);

interface ReviewLineProps {
  readonly review: ReviewInfo;
  readonly resolution?: Resolution;
  readonly chosen: boolean;
}

const ReviewLine = ({ review, resolution, chosen }: ReviewLineProps) => (
  <li>
    <Link
      href={`/reviews/${review.review}`}
      aria-current={chosen ? 'true' : undefined}
      className={cx(
        'block border-l-2 px-3 py-2.5 -outline-offset-2',
        chosen ? 'border-accent bg-accent-soft' : 'border-transparent hover:bg-hover',
      )}
    >
      <span className="flex items-center gap-2 text-small text-ink-faint">
        <Icon
          name={resolution === undefined ? 'person' : 'check'}
          size={14}
          className={resolution === undefined ? 'text-wait' : 'text-done'}
        />
        <span className="font-medium text-ink-soft">
          {resolution === undefined ? KIND_LABELS[review.kind] : resolutionWords(resolution)}
        </span>
        <span className="min-w-0 flex-1 truncate">
          {resolution === undefined ? review.agent : `by ${identityText(resolution.by)}`}
        </span>
        <RelativeTime at={resolution?.at ?? review.at} />
      </span>
      <span className="mt-0.5 line-clamp-2 font-medium break-words">
        {visibleText(questionOf(review).title)}
      </span>
    </Link>
  </li>
);
