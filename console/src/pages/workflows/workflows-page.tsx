import { Link } from 'wouter';
import type { WorkflowInfo } from '../../../../telltale/src/client/api.ts';
import type { RunSummary } from '../../../../telltale/src/log/run-summary.ts';
import { useLiveList } from '../../data/live-lists.ts';
import { useData } from '../../data/use-data.ts';
import { useKept } from '../../data/use-kept.ts';
import { formatDateTime } from '../../format/format-time.ts';
import { Page } from '../../shell/page.tsx';
import { Code } from '../../ui/code.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Panel } from '../../ui/panel.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { STATUS_LOOKS } from '../../ui/status-look.ts';
import { runPath, workflowPath } from './paths.ts';
import { RecentRuns } from './recent-runs.tsx';
import { TriggerList } from './trigger-list.tsx';
import { useWorkflows } from './use-workflows.ts';

const ALL = {};

export function WorkflowsPage() {
  const workflows = useWorkflows();
  const runs = useLiveList(useData().runs, ALL);
  const [search, setSearch] = useKept('workflows.search', '');
  if (workflows.kind === 'loading')
    return (
      <Page title="Workflows">
        <Loading label="Reading the workflows" rows={6} />
      </Page>
    );
  if (workflows.kind === 'failed')
    return (
      <Page title="Workflows">
        <ErrorState
          title="The workflows could not be read."
          error={workflows.error}
          onRetry={workflows.reload}
        />
      </Page>
    );
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = workflows.value.filter(({ agent, name, description }) =>
    words.every((word) => `${agent} ${name} ${description ?? ''}`.toLowerCase().includes(word)),
  );
  return (
    <Page title="Workflows">
      {workflows.value.length === 0 ? (
        <NoWorkflows />
      ) : (
        <>
          <div className="flex">
            <SearchField label="Search workflows" value={search} onChange={setSearch} />
          </div>
          {found.length === 0 ? <EmptyState icon="filter" title="No workflow matches." /> : null}
          {byAgent(found).map(([agent, own]) => (
            <Panel
              key={agent}
              title={
                <Link href={`/agents/${encodeURIComponent(agent)}`} className="hover:underline">
                  {agent}
                </Link>
              }
              bodyClassName=""
            >
              <ul aria-label={`Workflows of ${agent}`} className="divide-y divide-line">
                {own.map((workflow) => (
                  <WorkflowLine
                    key={workflow.name}
                    workflow={workflow}
                    runs={runs.rows.filter(
                      (run) => run.workflow === workflow.name && run.agent === workflow.agent,
                    )}
                  />
                ))}
              </ul>
            </Panel>
          ))}
        </>
      )}
      <RecentRuns list={runs} named />
    </Page>
  );
}

const byAgent = (workflows: readonly WorkflowInfo[]) => {
  const agents = [...new Set(workflows.map(({ agent }) => agent))];
  return agents.map((agent) => [agent, workflows.filter((one) => one.agent === agent)] as const);
};

const NoWorkflows = () => (
  <EmptyState icon="workflows" title="No agent here has workflows.">
    <p className="mb-2">
      A workflow is a procedure of steps or states. An agent’s declaration, a schedule, a call or a person
      starts it. An agent has the workflows that its manifest imports:
    </p>
    <Code text={'import:\n  workflows: [./workflows/release.yml]'} className="text-left" />
  </EmptyState>
);

interface WorkflowLineProps {
  readonly workflow: WorkflowInfo;
  /** Its own runs, newest first. */
  readonly runs: readonly RunSummary[];
}

const WorkflowLine = ({ workflow, runs }: WorkflowLineProps) => (
  <li className="flex flex-wrap items-start gap-x-6 gap-y-2 px-4 py-3">
    <div className="min-w-0 flex-1 basis-72">
      <Link href={workflowPath(workflow.agent, workflow.name)} className="font-semibold hover:underline">
        {workflow.name}
      </Link>
      <p className="mb-1 max-w-3xl text-ink-soft">{workflow.description ?? 'No description.'}</p>
      <TriggerList triggers={workflow.triggers} />
    </div>
    <RunDots runs={runs} />
  </li>
);

/** How many runs are shown for each workflow. */
const SHOWN = 6;

/** The last runs of a workflow, newest first: a mark for each, and the start of the last one. */
function RunDots({ runs }: { readonly runs: readonly RunSummary[] }) {
  const [last] = runs;
  if (last === undefined) return <p className="text-small text-ink-faint">has not run yet</p>;
  return (
    <div className="flex items-center gap-2 text-small text-ink-faint">
      <ul aria-label="Last runs" className="flex gap-1">
        {runs.slice(0, SHOWN).map(({ id, status, startedAt }) => (
          <li key={id} className="flex">
            <Link
              href={runPath(id)}
              aria-label={`${STATUS_LOOKS[status].label}, ${formatDateTime(startedAt)}`}
              className="rounded-full"
            >
              <StatusBadge status={status} bare />
            </Link>
          </li>
        ))}
      </ul>
      <RelativeTime at={last.startedAt} />
    </div>
  );
}
