import { Link } from 'wouter';
import type { ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { identityText } from '../../../../telltale/src/kernel/identity.ts';
import { visibleText } from '../../../../telltale/src/kernel/visible-text.ts';
import type { Resolution } from '../../data/review-inbox.ts';
import { cx } from '../../ui/class-names.ts';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { KIND_LABELS, questionOf, resolutionWords } from './review-words.ts';

export interface ReviewLineProps {
  readonly review: ReviewInfo;
  readonly resolution?: Resolution;
  readonly chosen: boolean;
}

export const ReviewLine = ({ review, resolution, chosen }: ReviewLineProps) => (
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
