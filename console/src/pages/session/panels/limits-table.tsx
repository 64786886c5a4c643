import { formatDuration } from '../../../format/format-duration.ts';
import { formatCost } from '../../../format/format-number.ts';
import { useSessionView } from '../session-view.ts';

/** What the session has used, and what it has left. */
export function LimitsTable() {
  const { model, moment } = useSessionView();
  const { totals, maxTurns, balance, downMs, startedAt, actions, childTurns } = model.stateAt(moment.seq);
  const rows: readonly (readonly [string, string])[] = [
    ['Turns', `${totals.turns}${maxTurns === undefined ? '' : ` of ${maxTurns}`}`],
    ['Tokens in', totals.input.toLocaleString('en')],
    ['Tokens out', totals.output.toLocaleString('en')],
    ['Cost', formatCost(totals.cost_usd)],
    ['Actions', actions.size.toLocaleString('en')],
    ['Worked', formatDuration(Math.max(0, moment.at - startedAt - downMs))],
    ...(downMs > 0 ? [['Idle', formatDuration(downMs)] as const] : []),
    ...(balance === undefined ? [] : [['Budget left', balance.toLocaleString('en')] as const]),
    ...childTurns.map(({ agent, turns }) => [`Turns of ${agent}`, String(turns)] as const),
  ];
  return (
    <section aria-label="Used so far">
      <h2 className="mb-1.5 text-small font-semibold">Used so far</h2>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1 text-small">
        {rows.map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-ink-faint">{label}</dt>
            <dd className="tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
