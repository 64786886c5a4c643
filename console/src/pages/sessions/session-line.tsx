import { memo } from 'react';
import { Link } from 'wouter';
import { visibleText } from '../../../../telltale/src/lib/text.ts';
import type { SessionSummary } from '../../../../telltale/src/log/session-summary.ts';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { useNow } from '../../data/use-now.ts';
import { plural } from '../../format/format-number.ts';
import { cx } from '../../ui/class-names.ts';
import { Cost } from '../../ui/cost.tsx';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StateChip } from '../../ui/state-chip.tsx';
import { StateStrip } from '../../ui/state-strip.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { Tokens } from '../../ui/tokens.tsx';
import { isAskedIn } from '../reviews/review-words.ts';
import { SESSION_GRID } from './session-columns.ts';
import type { SessionRow } from './session-rows.ts';
import { statusField } from './status-field.ts';

export interface SessionLineProps {
  readonly row: SessionRow;
  readonly at: number;
  readonly of: number;
  readonly top: number;
  readonly measure: (element: Element | null) => void;
}

/** Memoized, so that scrolling only draws the rows that come into view. */
export const SessionLine = memo(({ row, at, of, top, measure }: SessionLineProps) => {
  const { session, depth, children } = row;
  const figure = 'hidden text-right text-ink-soft lg:block';
  return (
    <li
      ref={measure}
      aria-posinset={at + 1}
      aria-setsize={of}
      data-index={at}
      data-at={at}
      style={{ transform: `translateY(${top}px)` }}
      className={cx(
        'absolute top-0 left-0 w-full border-b border-line px-3 py-2 hover:bg-hover lg:h-15 lg:py-0',
        'focus-within:bg-hover',
        SESSION_GRID,
      )}
    >
      <div className="mb-1 lg:mb-0">
        <StatusBadge status={session.status} />
      </div>
      <div className="min-w-0" style={{ paddingLeft: depth * 20 }}>
        <Link
          href={`/sessions/${encodeURIComponent(session.id)}`}
          className="block truncate font-medium -outline-offset-1 after:absolute after:inset-0"
        >
          {session.title.trim() || 'No input'}
        </Link>
        <p className="truncate text-small text-ink-faint">
          {depth > 0 ? '↳ ' : ''}
          {session.agent} · {session.model}
          {children > 0 ? ` · ${children} sub-agent${children > 1 ? 's' : ''}` : ''}
        </p>
      </div>
      <div className="mt-1.5 min-w-0 lg:mt-0">
        <SessionState session={session} />
      </div>
      <div className="min-w-0">
        <SessionWaits session={session} />
      </div>
      <div className={figure}>
        <span className="sr-only">turn </span>
        <span className="tabular-nums">{session.turn}</span>
      </div>
      <div className={figure}>
        <Tokens input={session.input_tokens} output={session.output_tokens} estimated={session.estimated} />
      </div>
      <div className={figure}>
        <Cost usd={session.cost_usd} />
      </div>
      <div className={cx(figure, 'text-small')}>
        <RelativeTime at={session.startedAt} />
      </div>
      <p className="mt-1.5 flex gap-3 text-small text-ink-faint lg:hidden">
        <span>turn {session.turn}</span>
        <span>
          <Tokens input={session.input_tokens} output={session.output_tokens} estimated={session.estimated} />{' '}
          tokens
        </span>
        <Cost usd={session.cost_usd} />
        <RelativeTime at={session.startedAt} className="ml-auto" />
      </p>
    </li>
  );
});

/** The state that the agent declares, and its earlier states over time. */
function SessionState({ session }: { readonly session: SessionSummary }) {
  const now = useNow();
  const declared = statusField(session);
  if (declared === undefined) return <span className="hidden text-small text-ink-faint lg:inline">–</span>;
  const { field, spans } = declared;
  const to = session.status === 'running' ? Math.max(now, session.updatedAt) : session.updatedAt;
  return (
    <div className="flex flex-col gap-1.5">
      <StateChip field={field} value={spans.at(-1)?.value ?? null} />
      <StateStrip field={field} spans={spans} from={session.startedAt} to={to} />
    </div>
  );
}

/** What waits for a person, what else is running, or how the session ended. */
function SessionWaits({ session }: { readonly session: SessionSummary }) {
  const { runs, error, status } = session;
  const { open } = useReadable(useData().reviews);
  // A session also waits for the questions of its workflow runs and sub-agents.
  const asked = open.filter((review) => isAskedIn(review, session.id)).map(({ review }) => review);
  const reviews = [...new Set([...session.reviews, ...asked])];
  const [review] = reviews;
  // The log ends with the session. Runs that it started have logs of their own.
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
