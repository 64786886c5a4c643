import { lazy, Suspense, useMemo } from 'react';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { Loading } from '../../../ui/loading.tsx';
import { changesUntil, numericFields } from '../model/field-history.ts';
import { useSessionView } from '../session-view.ts';
import { useRested } from '../use-rested.ts';
import { FieldBand } from './field-band.tsx';
import { FieldTable } from './field-table.tsx';
import { LimitsTable } from './limits-table.tsx';

// The chart library comes when there is something to draw.
const NumberChart = lazy(async () => ({ default: (await import('./number-chart.tsx')).NumberChart }));

/** What the agent declared of itself: now, over time, and what it spent in each state. */
export function StatePanel() {
  const { model, moment, isLive, version } = useSessionView();
  const { history } = model;
  const { metadata } = model.stateAt(moment.seq);
  // Going back folds the metrics anew: that waits until the slider rests.
  const seq = useRested(moment.seq, isLive);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that there are more events.
  const metrics = useMemo(() => model.metrics.at(seq), [model, seq, version]);
  const states = history.states.filter((field) => history.fields.has(field));
  const numbers = numericFields(history, moment.seq);
  if (Object.keys(metadata).length === 0 && states.length === 0)
    return <EmptyState icon="tokens" title="This agent has not declared any state." />;
  return (
    <div className="flex flex-col gap-5 p-3">
      {states.map((field) => (
        <FieldBand
          key={field}
          field={field}
          changes={changesUntil(history.fields.get(field) ?? [], moment.seq)}
          metrics={metrics.find((each) => each.field === field)}
        />
      ))}
      {numbers.length === 0 ? null : (
        <div className="grid gap-4 sm:grid-cols-2">
          {numbers.map((field) => (
            <Suspense key={field} fallback={<Loading label="Fetching the chart" rows={2} />}>
              <NumberChart
                field={field}
                changes={changesUntil(history.fields.get(field) ?? [], moment.seq)}
                until={moment.at}
              />
            </Suspense>
          ))}
        </div>
      )}
      <FieldTable metadata={metadata} />
      <LimitsTable />
    </div>
  );
}
