import type { ReactNode } from 'react';
import { decisionsOf } from './model/decisions.ts';
import { DataPanel } from './panels/data-panel.tsx';
import { DecisionsPanel } from './panels/decisions-panel.tsx';
import { RunEventPanel } from './panels/run-event-panel.tsx';
import { RunEventsPanel } from './panels/run-events-panel.tsx';
import { StatesPanel } from './panels/states-panel.tsx';
import { StepsPanel } from './panels/steps-panel.tsx';
import { useRunView } from './run-view.ts';

export type RunPanelId = 'steps' | 'states' | 'decisions' | 'data' | 'events' | 'event';

export interface RunTab {
  readonly id: RunPanelId;
  readonly label: string;
  readonly count?: number;
}

/** What there is to look at beside the graph. States only where there are any. */
export function useRunTabs(): readonly RunTab[] {
  const { model, state, seq, selected } = useRunView();
  return [
    { id: 'steps', label: 'Steps', count: state.steps.size },
    ...(state.visited.length === 0
      ? []
      : [{ id: 'states' as const, label: 'States', count: state.visited.length }]),
    { id: 'decisions', label: 'Decisions', count: decisionsOf(model.events, seq).length },
    { id: 'data', label: 'Data' },
    { id: 'events', label: 'Events', count: seq },
    { id: 'event', label: selected === undefined ? 'Event' : `Event ${selected}` },
  ];
}

export interface RunPanelProps {
  readonly id: RunPanelId;
  /** The name of the step or state that is looked at. */
  readonly chosen: string | undefined;
  readonly onChoose: (name: string | undefined) => void;
}

export function RunPanel({ id, chosen, onChoose }: RunPanelProps): ReactNode {
  switch (id) {
    case 'steps':
      return <StepsPanel chosen={chosen} onChoose={onChoose} />;
    case 'states':
      return <StatesPanel chosen={chosen} />;
    case 'decisions':
      return <DecisionsPanel />;
    case 'data':
      return <DataPanel />;
    case 'events':
      return <RunEventsPanel />;
    case 'event':
      return <RunEventPanel />;
  }
}
