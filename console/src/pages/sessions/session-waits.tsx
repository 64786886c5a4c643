import { Link } from 'wouter';
import type { SessionSummary } from '../../../../telltale/src/events/session-summary.ts';
import { visibleText } from '../../../../telltale/src/kernel/visible-text.ts';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { plural } from '../../format/format-number.ts';
import { Icon } from '../../ui/icon.tsx';
import { isAskedIn } from '../reviews/review-words.ts';

/** What waits for a person, what goes on beside it, or how it ended. */
export function SessionWaits({ session }: { readonly session: SessionSummary }) {
  const { runs, error, status } = session;
  const { open } = useReadable(useData().reviews);
  // A session also waits for what its workflow runs and sub-agents ask.
  const asked = open.filter((review) => isAskedIn(review, session.id)).map(({ review }) => review);
  const reviews = [...new Set([...session.reviews, ...asked])];
  const [review] = reviews;
  // Its log ends with it: what runs it set off came to later, they say themselves.
  const goesOn = status === 'running' || status === 'waiting';
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-0.5 text-small">
      {review === undefined ? null : (
        <Link
          href={`/reviews/${review}`}
          className="relative z-10 mt-1 inline-flex items-center gap-1 font-medium text-wait hover:underline lg:mt-0"
        >
          <Icon name="person" size={14} />
          {reviews.length === 1 ? 'Waiting for you' : `${reviews.length} reviews waiting`}
        </Link>
      )}
      {runs.length === 0 || !goesOn ? null : (
        <span className="mt-1 inline-flex items-center gap-1 text-ink-soft lg:mt-0">
          <Icon name="workflows" size={14} />
          {plural(runs.length, 'workflow')}
        </span>
      )}
      {error !== undefined && (status === 'failed' || status === 'stalled') ? (
        <code className="truncate text-ink-soft" title={error.message}>
          {error.code}
        </code>
      ) : null}
      {session.quarantine === undefined ? null : (
        <span className="w-full truncate text-fail" title={visibleText(session.quarantine.why)}>
          {visibleText(session.quarantine.why)}
        </span>
      )}
      {status === 'waiting' && reviews.length === 0 && session.chat === true ? (
        <span className="text-ink-faint">for a message</span>
      ) : null}
    </div>
  );
}
