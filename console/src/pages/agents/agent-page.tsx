import { Link, useLocation } from 'wouter';
import type { AgentInfo } from '../../../../telltale/src/client/api.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useKept } from '../../data/use-kept.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { plural } from '../../format/format-number.ts';
import { formatClock } from '../../format/format-time.ts';
import { Page } from '../../shell/page.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { Loading } from '../../ui/loading.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { AgentFiles } from './agent-files.tsx';
import { AgentHealth } from './agent-health.tsx';
import { healthOf } from './health-of.ts';
import { ReloadAgents } from './reload-agents.tsx';
import { useFreshAgents } from './use-fresh-agents.ts';

type View = 'files' | 'manifest';

export function AgentPage({ name }: { readonly name: string }) {
  const [, navigate] = useLocation();
  const details = useLoaded(`agent ${name}`, (client, signal) => client.agent(name, { signal }));
  const [view, setView] = useKept<View>('agent.view', 'files');
  const role = useBlocked('run');
  useFreshAgents(details.reload);
  const crumbs = (
    <Link href="/agents" className="hover:underline">
      Agents
    </Link>
  );
  if (details.kind !== 'ready')
    return (
      <Page title={name} crumbs={crumbs}>
        {details.kind === 'loading' ? (
          <Loading label="Reading the agent" />
        ) : (
          <ErrorState
            title="The agent could not be read."
            list={{ href: '/agents', label: 'See all agents' }}
            error={details.error}
            onRetry={details.reload}
          />
        )}
      </Page>
    );
  const agent = details.value;
  const blocked = agent.usable ? role : 'The manifest of this agent has errors.';
  return (
    <Page
      title={name}
      crumbs={crumbs}
      actions={
        <>
          <ReloadAgents onDone={details.reload} />
          <Button
            kind="primary"
            icon="play"
            blocked={blocked}
            onClick={() => navigate(`/start/${encodeURIComponent(name)}`)}
          >
            Start
          </Button>
        </>
      }
    >
      <AgentSummary agent={agent} />
      <AgentNotice agent={agent} />
      <Tabs<View>
        label="Views of the manifest"
        className="rounded-lg border border-line bg-surface"
        tabs={[
          { id: 'files', label: 'Files', count: agent.files.length },
          { id: 'manifest', label: 'In use' },
        ]}
        active={view}
        onChange={setView}
      >
        {view === 'files' ? (
          <AgentFiles agent={agent} />
        ) : agent.manifest === null ? (
          <p className="p-4 text-ink-soft">No version of this agent could be loaded.</p>
        ) : (
          <JsonView value={agent.manifest} label="The manifest in use" className="m-3" />
        )}
      </Tabs>
    </Page>
  );
}

/** A notice above the files if they differ from what runs. */
function AgentNotice({ agent }: { readonly agent: AgentInfo }) {
  const { kind } = healthOf(agent);
  if (kind !== 'old' && kind !== 'broken') return null;
  const errors = agent.problems.filter(({ severity }) => severity === 'error').length;
  return (
    <div role="status" className="flex gap-2.5 rounded-lg border border-wait/40 bg-wait-soft px-3 py-2.5">
      <Icon name={kind === 'old' ? 'history' : 'alert'} className="mt-0.5 text-wait" />
      <p>
        {kind === 'old' ? (
          <>
            <strong className="font-semibold">
              The version from {formatClock(agent.loadedAt)} is in use.
            </strong>{' '}
            The files have changed since, and {plural(errors, 'problem')} keep{errors === 1 ? 's' : ''} them
            from being loaded. Sessions use the old version.
          </>
        ) : (
          <>
            <strong className="font-semibold">This agent cannot be started.</strong> No version of it could be
            loaded; the files below say why.
          </>
        )}
      </p>
    </div>
  );
}

const AgentSummary = ({ agent }: { readonly agent: AgentInfo }) => (
  <div className="flex flex-col gap-3">
    <p className="max-w-3xl text-lead text-ink-soft">{agent.description ?? 'No description.'}</p>
    <dl className="flex flex-wrap gap-x-8 gap-y-2 text-body [&_dt]:text-small [&_dt]:text-ink-faint">
      <div>
        <dt>State</dt>
        <dd>
          <AgentHealth agent={agent} />
        </dd>
      </div>
      {agent.model === '' ? null : (
        <div className="min-w-0">
          <dt>Model</dt>
          <dd className="truncate font-mono text-small leading-5">{agent.model}</dd>
        </div>
      )}
      <div>
        <dt>Loaded</dt>
        <dd>
          <RelativeTime at={agent.loadedAt} />
        </dd>
      </div>
      <div className="min-w-0">
        <dt>Manifest</dt>
        <dd className="font-mono text-small leading-5 break-all">{agent.path}</dd>
      </div>
      {agent.workflows.length === 0 ? null : (
        <div>
          <dt>Workflows</dt>
          <dd className="flex flex-wrap gap-x-3">
            {agent.workflows.map((name) => (
              <Link
                key={name}
                href={`/workflows/${encodeURIComponent(agent.name)}/${encodeURIComponent(name)}`}
                className="text-accent hover:underline"
              >
                {name}
              </Link>
            ))}
          </dd>
        </div>
      )}
    </dl>
  </div>
);
