import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { useBlocked } from '../../data/use-blocked.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Loading } from '../../ui/loading.tsx';
import { EventDetails } from '../log/event-details.tsx';
import { ForkDialog } from './header/fork-dialog.tsx';
import { describeEvent } from './model/event-clause.ts';
import { changesUntil, numericFields } from './model/field-history.ts';
import { ownLead } from './model/own-lead.ts';
import { EventsPanel } from './panels/events-panel.tsx';
import { FeedsPanel } from './panels/feeds-panel.tsx';
import { FieldBand } from './panels/field-band.tsx';
import { FieldTable } from './panels/field-table.tsx';
import { LimitsTable } from './panels/limits-table.tsx';
import { PromptPanel } from './panels/prompt-panel.tsx';
import { VariablesPanel } from './panels/variables-panel.tsx';
import { WorkflowsPanel } from './panels/workflows-panel.tsx';
import { useSessionView } from './session-view.ts';
import { useRested } from './use-rested.ts';

export type PanelId = 'event' | 'state' | 'variables' | 'feeds' | 'workflows' | 'prompt' | 'events';

/** On a narrow screen, conversation and waterfall are tabs too. */
export type TabId = PanelId | 'stream' | 'waterfall';

export interface PanelTab {
  readonly id: PanelId;
  readonly label: string;
  readonly count?: number;
}

/** The tabs of the panels next to conversation and waterfall. */
export function usePanelTabs(): readonly PanelTab[] {
  const { model, moment, selected } = useSessionView();
  const state = model.stateAt(moment.seq);
  const { variables, feeds } = state;
  const setOff = model.waterfall.rows.filter((row) => row.kind === 'run' && row.seq <= moment.seq).length;
  return [
    { id: 'state', label: 'State' },
    { id: 'variables', label: 'Variables', count: variables.size },
    { id: 'feeds', label: 'Feeds', count: feeds.size },
    { id: 'workflows', label: 'Workflows', count: setOff + (ownLead(state) === undefined ? 0 : 1) },
    { id: 'prompt', label: 'Prompt' },
    { id: 'events', label: 'Events', count: moment.seq },
    { id: 'event', label: selected === undefined ? 'Event' : `Event ${selected}` },
  ];
}

export function PanelOf({ id }: { readonly id: PanelId }): ReactNode {
  switch (id) {
    case 'event':
      return <EventPanel />;
    case 'state':
      return <StatePanel />;
    case 'variables':
      return <VariablesPanel />;
    case 'feeds':
      return <FeedsPanel />;
    case 'workflows':
      return <WorkflowsPanel />;
    case 'prompt':
      return <PromptPanel />;
    case 'events':
      return <EventsPanel />;
  }
}

/** One event: what it says, why it happened, and what can be done from here. */
function EventPanel() {
  const view = useSessionView();
  const { id, model, selected } = view;
  const { toasts } = useData();
  const blocked = useBlocked('run');
  const [isForking, setForking] = useState(false);
  const event = selected === undefined ? undefined : model.events[selected - 1];
  if (event === undefined)
    return (
      <EmptyState icon="dot" title="No event selected.">
        Select one in the waterfall, the conversation or the list of events.
      </EmptyState>
    );
  const onCopy = async () => {
    await navigator.clipboard.writeText(
      `${location.origin}${location.pathname}#/sessions/${encodeURIComponent(id)}?at=${event.seq}`,
    );
    toasts.say('done', 'The link to this moment was copied.');
  };
  return (
    <EventDetails
      {...{ view, event }}
      count={model.events.length}
      sentence={`${describeEvent(event)}.`}
      when={`turn ${event.turn}`}
      actions={
        <>
          <Button size="small" icon="fork" blocked={blocked} onClick={() => setForking(true)}>
            Fork from here
          </Button>
          <ForkDialog open={isForking} from={event.seq} onClose={() => setForking(false)} />
          <IconButton icon="copy" label="Copy the link to this moment" onClick={() => void onCopy()} />
        </>
      }
    />
  );
}

// The chart library is loaded when there is something to draw.
const NumberChart = lazy(async () => ({ default: (await import('./panels/number-chart.tsx')).NumberChart }));

/** What the agent declared about itself: now, over time, and how long each state lasted. */
function StatePanel() {
  const { model, moment, isLive, version } = useSessionView();
  const { history } = model;
  const { metadata } = model.stateAt(moment.seq);
  // Going back folds the metrics again, so it waits until the slider rests.
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
