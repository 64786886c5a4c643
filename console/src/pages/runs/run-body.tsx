import { useEffect, useMemo, useState } from 'react';
import { cx } from '../../ui/class-names.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { runPosition } from '../workflows/graph/run-position.ts';
import { GraphPanel } from '../workflows/graph-panel.tsx';
import { useWorkflows } from '../workflows/use-workflows.ts';
import { RunFigures } from './run-figures.tsx';
import { RunMoment } from './run-moment.tsx';
import { RunNotices } from './run-notices.tsx';
import { RunPanel, type RunPanelId, useRunTabs } from './run-panels.tsx';
import { RunReviews } from './run-reviews.tsx';
import { useRunView } from './run-view.ts';
import { RunWhy } from './run-why.tsx';

/** All of the page below its heading: the graph, and what there is to know, side by side where there is room. */
export function RunBody({ isWide }: { readonly isWide: boolean }) {
  const { selected } = useRunView();
  const [tab, setTab] = useState<RunPanelId>(selected === undefined ? 'steps' : 'event');
  const [chosen, setChosen] = useState<string>();
  const tabs = useRunTabs();
  useEffect(() => {
    if (selected !== undefined) setTab('event');
  }, [selected]);
  const active = tabs.some(({ id }) => id === tab) ? tab : 'steps';
  return (
    <>
      <RunFigures />
      <RunWhy />
      <RunNotices />
      <RunReviews />
      <RunMoment />
      <div className={cx('gap-3', isWide ? 'grid min-h-0 flex-1 grid-cols-2' : 'flex flex-col')}>
        <RunGraph
          chosen={chosen}
          onChoose={(name, isState) => {
            setChosen(name === chosen ? undefined : name);
            setTab(isState ? 'states' : 'steps');
          }}
          className={isWide ? 'min-h-0' : 'h-88'}
        />
        <section
          aria-label="Details"
          className={cx('flex flex-col rounded-lg border border-line bg-surface', isWide && 'min-h-0')}
        >
          <Tabs
            label="Details"
            tabs={tabs}
            active={active}
            onChange={setTab}
            className="min-h-0 flex-1"
            panelClassName={cx(isWide && active !== 'events' && 'overflow-y-auto')}
          >
            <RunPanel id={active} chosen={chosen} onChoose={setChosen} />
          </Tabs>
        </section>
      </div>
    </>
  );
}

interface RunGraphProps {
  readonly chosen: string | undefined;
  readonly onChoose: (name: string, isState: boolean) => void;
  readonly className: string;
}

/** The graph of the workflow as it is now: it may be another than the one that the run began with. */
function RunGraph({ chosen, onChoose, className }: RunGraphProps) {
  const { state, version } = useRunView();
  const workflows = useWorkflows();
  const workflow =
    workflows.kind === 'ready'
      ? workflows.value.find(({ agent, name }) => agent === state.manifest.agent && name === state.workflow)
      : undefined;
  const graph = workflow?.graph;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the state, which stays one, is another.
  const position = useMemo(
    () => (graph === undefined ? undefined : runPosition(graph, state)),
    [graph, state, version],
  );
  if (graph === undefined)
    return (
      <Panel title="Graph" className={className}>
        {workflows.kind === 'loading' ? (
          <Loading label="Reading the workflow" />
        ) : (
          <EmptyState icon="workflows" title="Its workflow is not here any more.">
            {state.manifest.agent} has no workflow “{state.workflow}” now; what happened in the run is all the
            same below.
          </EmptyState>
        )}
      </Panel>
    );
  return (
    <GraphPanel
      {...{ graph, position, chosen, className }}
      onChoose={({ name, kind }) => onChoose(name, kind === 'state' || kind === 'final')}
    />
  );
}
