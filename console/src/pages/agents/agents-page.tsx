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
    <Page title="Agents" actions={<ReloadAgents />} narrow>
      <p className="text-ink-soft">
        {caller.kind === 'known' && caller.who.dev
          ? 'Manifests are read again when they change. A broken edit leaves the version before it in force.'
          : 'What the server was started with. Manifests that change count after a reload.'}
      </p>
      <AgentChoices onStart={(agent) => navigate(`/start/${encodeURIComponent(agent)}`)} />
    </Page>
  );
}
