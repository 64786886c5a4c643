import { Link } from 'wouter';
import type { ReviewInfo } from '../../../../telltale/src/client/api.ts';
import { visibleText } from '../../../../telltale/src/kernel/visible-text.ts';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { askerOf, askerPath, reasonOf } from './review-words.ts';

/** Who asks, why, whom, until when. */
export const ReviewFacts = ({ review }: { readonly review: ReviewInfo }) => (
  <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-2 [&_dt]:text-small [&_dt]:text-ink-faint">
    <div className="sm:col-span-2">
      <dt>Why you are asked</dt>
      <dd className="break-words">{visibleText(reasonOf(review))}</dd>
    </div>
    <div>
      <dt>Asked by</dt>
      <dd>
        <Link href={askerPath(review)} className="font-medium text-accent hover:underline">
          {askerOf(review)}
        </Link>
      </dd>
    </div>
    <div>
      <dt>{review.of === 'session' ? 'Action' : 'Step'}</dt>
      <dd className="font-mono text-small leading-5 break-words">
        {visibleText(review.kind === 'permission' ? `${review.action}: ${review.target}` : review.action)}
      </dd>
    </div>
    <div>
      <dt>Asked</dt>
      <dd>
        <RelativeTime at={review.at} />
        {review.assignee === undefined ? '' : `, addressed to ${review.assignee}`}
      </dd>
    </div>
    {review.due === undefined ? null : (
      <div>
        <dt>Answer by</dt>
        <dd className="text-wait">
          <RelativeTime at={review.due} />
        </dd>
      </div>
    )}
  </dl>
);
