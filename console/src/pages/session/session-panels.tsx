import type { ReactNode } from 'react';
import { ownLead } from './model/own-lead.ts';
import { EventPanel } from './panels/event-panel.tsx';
import { EventsPanel } from './panels/events-panel.tsx';
import { FeedsPanel } from './panels/feeds-panel.tsx';
import { PromptPanel } from './panels/prompt-panel.tsx';
import { StatePanel } from './panels/state-panel.tsx';
import { VariablesPanel } from './panels/variables-panel.tsx';
import { WorkflowsPanel } from './panels/workflows-panel.tsx';
import { useSessionView } from './session-view.ts';

export type PanelId = 'event' | 'state' | 'variables' | 'feeds' | 'workflows' | 'prompt' | 'events';

/** On a narrow screen the two large parts are tabs, too. */
export type TabId = PanelId | 'stream' | 'waterfall';

export interface PanelTab {
  readonly id: PanelId;
  readonly label: string;
  readonly count?: number;
}

/** The tabs of what can be looked at beside conversation and waterfall. */
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
