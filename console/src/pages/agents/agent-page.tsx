import { Link, useLocation } from 'wouter';
import { useBlocked } from '../../data/use-blocked.ts';
import { useKept } from '../../data/use-kept.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { Page } from '../../shell/page.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { AgentFiles } from './agent-files.tsx';
import { AgentNotice } from './agent-notice.tsx';
import { AgentSummary } from './agent-summary.tsx';
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
          { id: 'manifest', label: 'In force' },
        ]}
        active={view}
        onChange={setView}
      >
        {view === 'files' ? (
          <AgentFiles agent={agent} />
        ) : agent.manifest === null ? (
          <p className="p-4 text-ink-soft">No version of this agent could be loaded.</p>
        ) : (
          <JsonView value={agent.manifest} label="The manifest in force" className="m-3" />
        )}
      </Tabs>
    </Page>
  );
}
