import { useLocation } from 'wouter';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { Page } from '../../shell/page.tsx';
import { AgentChoices } from '../start/agent-choices.tsx';
import { ReloadAgents } from './reload-agents.tsx';
import { useFreshAgents } from './use-fresh-agents.ts';

export function AgentsPage() {
  const [, navigate] = useLocation();
  const { who } = useData();
  const caller = useReadable(who);
  useFreshAgents();
  return (
    <Page title="Agents" actions={<ReloadAgents />}>
      <p className="text-ink-soft">
        {caller.kind === 'known' && caller.who.dev
          ? 'Manifests reload when they change. If an edit has errors, the last good version stays in use.'
          : 'The agents that this server was started with. Reload the manifests after you change them.'}
      </p>
      <AgentChoices onStart={(agent) => navigate(`/start/${encodeURIComponent(agent)}`)} />
    </Page>
  );
}
