import type { FieldMetrics } from '../../../../../telltale/src/log/state-metrics.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { formatCost, formatCount } from '../../../format/format-number.ts';
import { StateChip } from '../../../ui/state-chip.tsx';
import { StateStrip } from '../../../ui/state-strip.tsx';
import type { Change } from '../model/field-history.ts';
import { useSessionView } from '../session-view.ts';

/** How many bands are drawn. */
const MAX_SPANS = 60;

export interface FieldBandProps {
  readonly field: string;
  readonly changes: readonly Change[];
  readonly metrics: FieldMetrics | undefined;
}

/** An enum field: its values over time, and the time and cost of each. */
export function FieldBand({ field, changes, metrics }: FieldBandProps) {
  const { model, moment, select } = useSessionView();
  const spans = changes.slice(-MAX_SPANS).map(({ to, at, seq }) => ({ value: to, at, seq }));
  const isWhole = spans.length === changes.length;
  return (
    <section aria-label={`${field} over time`}>
      <h2 className="mb-1.5 text-small font-semibold">
        {field}
        {isWhole ? null : <span className="font-normal text-ink-faint"> · the last {MAX_SPANS} changes</span>}
      </h2>
      <StateStrip
        field={field}
        spans={spans}
        from={isWhole ? model.waterfall.start : (spans[0]?.at ?? 0)}
        to={moment.at}
        kind="labeled"
        onSpan={({ seq }) => select(seq)}
      />
      {metrics === undefined ? null : (
        <section
          aria-label={`Time, tokens and cost for each ${field}`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
          tabIndex={0}
          className="mt-2 overflow-x-auto"
        >
          <table className="w-full text-small whitespace-nowrap tabular-nums">
            <thead>
              <tr className="text-left text-ink-faint">
                <th className="py-1 pr-2 sm:pr-4 font-medium">State</th>
                <th className="py-1 pr-2 sm:pr-4 text-right font-medium">Entered</th>
                <th className="py-1 pr-2 sm:pr-4 text-right font-medium">Time</th>
                <th className="py-1 pr-2 sm:pr-4 text-right font-medium">Turns</th>
                <th className="py-1 pr-2 sm:pr-4 text-right font-medium">Tokens</th>
                <th className="py-1 text-right font-medium">Cost</th>
              </tr>
            </thead>
            <tbody>
              {metrics.values.map(({ value, entries, ms, turns, input, output, cost_usd }) => (
                <tr key={JSON.stringify(value)} className="border-t border-line">
                  <td className="py-1 pr-2 sm:pr-4">
                    <StateChip field={field} value={value} />
                  </td>
                  <td className="py-1 pr-2 sm:pr-4 text-right">{entries}</td>
                  <td className="py-1 pr-2 sm:pr-4 text-right">{formatDuration(ms)}</td>
                  <td className="py-1 pr-2 sm:pr-4 text-right">{turns}</td>
                  <td className="py-1 pr-2 sm:pr-4 text-right">{formatCount(input + output)}</td>
                  <td className="py-1 text-right">{formatCost(cost_usd)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  );
}
