import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { isTurn } from '../../../../telltale/src/events/run-event.ts';
import { plural } from '../../format/format-number.ts';
import { Cost } from '../../ui/cost.tsx';
import { Duration } from '../../ui/duration.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { Tokens } from '../../ui/tokens.tsx';
import { useQuarantine } from '../log/quarantine.tsx';
import { runPath, sessionPath } from '../workflows/paths.ts';
import { useRunView } from './run-view.ts';

/** How a run stands at the moment that is shown: in one line. */
export function RunFigures() {
  const { id, model, state, isLive } = useRunView();
  const { status, startedAt, at, usage, origin, waiting, balance } = state;
  const { quarantine } = useQuarantine('run', id, model.events.length);
  const goesOn = isLive && status === 'running';
  const done = [...state.steps.values()].filter((step) => step.status === 'completed').length;
  return (
    <dl className="flex min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-small text-ink-soft">
      <Figure label="Status" silent>
        <StatusBadge status={isLive && quarantine !== undefined ? 'quarantined' : status} />
      </Figure>
      {waiting === undefined ? null : (
        <Figure label="Waiting for">
          {waiting.for.startsWith('review ') ? 'an answer' : waiting.for}
          {waiting.due === undefined || isTurn(waiting.for) ? null : (
            <>
              {', until '}
              <RelativeTime at={waiting.due} />
            </>
          )}
        </Figure>
      )}
      {state.state === undefined ? null : <Figure label="State">{state.state}</Figure>}
      <Figure label="Steps done">{done}</Figure>
      <Figure label="Took">
        <Duration from={startedAt} to={goesOn ? undefined : at} />
      </Figure>
      <Figure label="Began">
        <RelativeTime at={startedAt} />
      </Figure>
      {usage.input + usage.output === 0 ? null : (
        <Figure label="Tokens">
          <Tokens input={usage.input} output={usage.output} />
        </Figure>
      )}
      {usage.cost_usd === 0 ? null : (
        <Figure label="Cost">
          <Cost usd={usage.cost_usd} />
        </Figure>
      )}
      {balance === undefined ? null : <Figure label="Budget">{balance.toLocaleString('en')} left</Figure>}
      {state.invokes === 0 ? null : <Figure label="Asked">{plural(state.invokes, 'decision')}</Figure>}
      {origin.session === undefined ? null : (
        <Figure label={origin.leads === true ? 'Leads' : 'Of'}>
          <Link href={sessionPath(origin.session.id)} className="text-accent hover:underline">
            its session
          </Link>
        </Figure>
      )}
      {origin.parent === undefined ? null : (
        <Figure label="Called by">
          <Link href={runPath(origin.parent.run)} className="text-accent hover:underline">
            step {origin.parent.step} of a run
          </Link>
        </Figure>
      )}
    </dl>
  );
}

interface FigureProps {
  readonly label: string;
  /** Its label is only heard. */
  readonly silent?: boolean;
  readonly children: ReactNode;
}

const Figure = ({ label, silent = false, children }: FigureProps) => (
  <div className="flex items-center gap-1.5">
    <dt className={silent ? 'sr-only' : 'text-ink-faint'}>{label}</dt>
    <dd className="font-medium text-ink tabular-nums">{children}</dd>
  </div>
);
