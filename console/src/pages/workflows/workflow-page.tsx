import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { ApiGraph } from '../../../../telltale/src/client/api.ts';
import type { RunSummary } from '../../../../telltale/src/log/run-summary.ts';
import { useLiveList } from '../../data/live-lists.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useData } from '../../data/use-data.ts';
import { Page } from '../../shell/page.tsx';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { useMedia } from '../../ui/use-media.ts';
import { useRunModel } from '../runs/use-run-model.ts';
import { runPosition } from './graph/run-position.ts';
import { GraphPanel } from './graph-panel.tsx';
import { runPath } from './paths.ts';
import { RecentRuns } from './recent-runs.tsx';
import { StartRunDialog } from './start-run-dialog.tsx';
import { TriggerList } from './trigger-list.tsx';
import { useWorkflows } from './use-workflows.ts';

const GRAPH_ROOM = 'h-[60vh] min-h-80 lg:h-auto';

/** One workflow: what it does, what starts it, and the position of its last run. */
export function WorkflowPage({ agent, name }: { readonly agent: string; readonly name: string }) {
  const workflows = useWorkflows();
  const runs = useLiveList(useData().runs, { workflow: name });
  const blocked = useBlocked('run');
  const isWide = useMedia('(min-width: 64rem)');
  const [isStarting, setStarting] = useState(false);
  const own = runs.rows.filter((run) => run.agent === agent);
  const shown = own.find(({ status }) => status === 'running' || status === 'waiting') ?? own[0];
  const workflow =
    workflows.kind === 'ready'
      ? workflows.value.find((one) => one.agent === agent && one.name === name)
      : undefined;
  const crumbs = (
    <>
      <Link href="/workflows" className="hover:underline">
        Workflows
      </Link>{' '}
      /{' '}
      <Link href={`/agents/${encodeURIComponent(agent)}`} className="hover:underline">
        {agent}
      </Link>
    </>
  );
  if (workflow === undefined)
    return (
      <Page title={name} crumbs={crumbs}>
        {workflows.kind === 'loading' ? (
          <Loading label="Reading the workflow" />
        ) : workflows.kind === 'failed' ? (
          <ErrorState
            title="The workflow could not be read."
            error={workflows.error}
            onRetry={workflows.reload}
          />
        ) : (
          <EmptyState icon="workflows" title={`${agent} has no workflow "${name}".`}>
            It may have been renamed, or its manifest may be broken:{' '}
            <Link href={`/agents/${encodeURIComponent(agent)}`} className="text-accent underline">
              look at the agent
            </Link>
            . {own.length > 0 ? 'Its runs are still listed below.' : null}
          </EmptyState>
        )}
        {own.length > 0 ? <RecentRuns list={runs} title="Runs" agent={agent} /> : null}
      </Page>
    );
  return (
    <Page
      title={name}
      crumbs={crumbs}
      fill={isWide}
      actions={
        <Button kind="primary" icon="play" blocked={blocked} onClick={() => setStarting(true)}>
          Run
        </Button>
      }
    >
      <div className="flex flex-col gap-2">
        <p className="max-w-3xl text-lead text-ink-soft">{workflow.description ?? 'No description.'}</p>
        <TriggerList triggers={workflow.triggers} />
      </div>
      <div className="grid gap-4 lg:min-h-0 lg:flex-1 lg:grid-cols-[minmax(0,1fr)_minmax(20rem,28rem)]">
        {shown === undefined ? (
          <GraphPanel graph={workflow.graph} className={GRAPH_ROOM} />
        ) : (
          <LiveGraph key={shown.id} graph={workflow.graph} run={shown} className={GRAPH_ROOM} />
        )}
        <div className="lg:min-h-0 lg:overflow-y-auto">
          <RecentRuns list={runs} title="Runs" agent={agent} />
        </div>
      </div>
      <StartRunDialog workflow={workflow} open={isStarting} onClose={() => setStarting(false)} />
    </Page>
  );
}

interface LiveGraphProps {
  readonly graph: ApiGraph;
  readonly run: RunSummary;
  readonly className?: string;
}

/** The graph with the position of a run, updated live. */
function LiveGraph({ graph, run, className }: LiveGraphProps) {
  const { model, version } = useRunModel(run.id);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the state, which stays one, is another.
  const position = useMemo(() => runPosition(graph, model.stateAt()), [graph, model, version]);
  return (
    <GraphPanel
      graph={graph}
      position={position}
      {...(className === undefined ? {} : { className })}
      actions={
        <span className="flex min-w-0 items-center gap-2 text-small text-ink-faint">
          <StatusBadge status={run.status} />
          <Link href={runPath(run.id)} className="truncate text-accent hover:underline">
            the run that began <RelativeTime at={run.startedAt} />
          </Link>
        </span>
      }
    />
  );
}
