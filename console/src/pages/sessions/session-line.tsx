import { memo } from 'react';
import { Link } from 'wouter';
import { cx } from '../../ui/class-names.ts';
import { Cost } from '../../ui/cost.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { Tokens } from '../../ui/tokens.tsx';
import { SESSION_GRID } from './session-columns.ts';
import type { SessionRow } from './session-rows.ts';
import { SessionState } from './session-state.tsx';
import { SessionWaits } from './session-waits.tsx';

export interface SessionLineProps {
  readonly row: SessionRow;
  readonly at: number;
  readonly of: number;
  readonly top: number;
  readonly measure: (element: Element | null) => void;
}

/** Drawn again only when something of it changed: scrolling draws the rows that come into view. */
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
