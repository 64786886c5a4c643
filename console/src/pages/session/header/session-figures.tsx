import type { ReactNode } from 'react';
import { formatDuration } from '../../../format/format-duration.ts';
import { Cost } from '../../../ui/cost.tsx';
import { StateChip } from '../../../ui/state-chip.tsx';
import { StatusBadge } from '../../../ui/status-badge.tsx';
import { Tokens } from '../../../ui/tokens.tsx';
import { useQuarantine } from '../../log/quarantine.tsx';
import { useSessionView } from '../session-view.ts';

/** How a session stands at the moment that is shown: in one line. */
export function SessionFigures() {
  const { id, model, moment, isLive } = useSessionView();
  const state = model.stateAt(moment.seq);
  const { status, totals, turn, startedAt, downMs, maxTurns, model: modelName, balance, metadata } = state;
  const { quarantine } = useQuarantine('session', id, model.events.length);
  const worked = Math.max(0, moment.at - startedAt - downMs);
  return (
    <dl className="flex min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-small text-ink-soft">
      <Figure label="Status">
        <StatusBadge status={isLive && quarantine !== undefined ? 'quarantined' : status} />
      </Figure>
      {model.history.states.map((field) => (
        <Figure key={field} label={field}>
          <StateChip field={field} value={metadata[field] ?? null} />
        </Figure>
      ))}
      <Figure label="Turn" seen>
        {turn}
        {maxTurns === undefined ? '' : ` of ${maxTurns}`}
      </Figure>
      <Figure label="Tokens" seen>
        <Tokens input={totals.input} output={totals.output} estimated={totals.estimated} />
      </Figure>
      <Figure label="Cost" seen>
        <Cost usd={totals.cost_usd} />
      </Figure>
      <Figure label="Worked" seen>
        <span title={downMs > 0 ? `plus ${formatDuration(downMs)} without any work` : undefined}>
          {formatDuration(worked)}
        </span>
      </Figure>
      {balance === undefined ? null : (
        <Figure label="Budget" seen>
          {balance.toLocaleString('en')} left
        </Figure>
      )}
      <Figure label="Model" seen>
        <span className="font-mono">{modelName}</span>
      </Figure>
    </dl>
  );
}

interface FigureProps {
  readonly label: string;
  /** Whether its label is seen, or only heard. */
  readonly seen?: boolean;
  readonly children: ReactNode;
}

const Figure = ({ label, seen = false, children }: FigureProps) => (
  <div className="flex items-center gap-1.5">
    <dt className={seen ? 'text-ink-faint' : 'sr-only'}>{label}</dt>
    <dd className="flex items-center font-medium text-ink tabular-nums">{children}</dd>
  </div>
);
