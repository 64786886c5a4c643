import { useMemo } from 'react';
import { Link } from 'wouter';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Panel } from '../../ui/panel.tsx';
import { runPosition } from '../workflows/graph/run-position.ts';
import { GraphPanel } from '../workflows/graph-panel.tsx';
import { useWorkflows } from '../workflows/use-workflows.ts';
import { missingGraph, missingSteps } from './model/missing-graph.ts';
import { useRunView } from './run-view.ts';

export interface RunGraphProps {
  readonly chosen: string | undefined;
  readonly onChoose: (name: string, isState: boolean) => void;
  readonly className: string;
}

/** The current graph of the workflow, with a note if the run used another version, or the reason why there is none. */
export function RunGraph({ chosen, onChoose, className }: RunGraphProps) {
  const { state, version } = useRunView();
  const workflows = useWorkflows();
  const agents = useReadable(useData().agents);
  const { agent } = state.manifest;
  const workflow =
    workflows.kind === 'ready'
      ? workflows.value.find((each) => each.agent === agent && each.name === state.workflow)
      : undefined;
  const graph = workflow?.graph;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the state, which stays one, is another.
  const position = useMemo(
    () => (graph === undefined ? undefined : runPosition(graph, state)),
    [graph, state, version],
  );
  if (graph !== undefined) {
    const missing = missingSteps(graph, state);
    const changed = `The workflow has changed since this run started. The graph shows the current version, without ${missing.join(', ')}.`;
    return (
      <GraphPanel
        {...{ graph, position, chosen, className }}
        {...(missing.length === 0
          ? {}
          : {
              actions: (
                <span role="note" title={changed} className="flex min-w-0 items-center gap-1.5 text-small">
                  <Icon name="info" size={14} className="text-wait" />
                  <span className="truncate">The workflow has changed since</span>
                  <span className="sr-only">{changed}</span>
                </span>
              ),
            })}
        onChoose={({ name, kind }) => onChoose(name, kind === 'state' || kind === 'final')}
      />
    );
  }
  const failed = workflows.kind === 'failed' ? workflows : agents.kind === 'failed' ? agents : undefined;
  const reason =
    workflows.kind === 'ready' && agents.kind === 'ready' ? missingGraph(state, agents.value) : undefined;
  return (
    <Panel title="Graph" className={className}>
      {failed !== undefined ? (
        <ErrorState
          title="The graph could not be read from the server."
          error={failed.error}
          onRetry={workflows.reload}
        />
      ) : reason === undefined ? (
        <Loading label="Reading the workflow" />
      ) : (
        <EmptyState
          icon="workflows"
          title={reason.title}
          actions={
            <Link href={`/agents/${encodeURIComponent(agent)}`} className="text-accent underline">
              Look at the agent
            </Link>
          }
        >
          <span className="break-words">
            {reason.text} Steps, data and events of the run are all on this page.
          </span>
        </EmptyState>
      )}
    </Panel>
  );
}
