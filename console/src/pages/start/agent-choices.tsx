import { Link } from 'wouter';
import { useReadable } from '../../data/readable.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { Code } from '../../ui/code.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Loading } from '../../ui/loading.tsx';
import { AgentFacts } from '../agents/agent-facts.tsx';

/** The server's agents, each with a button that starts it. */
export function AgentChoices({ onStart }: { readonly onStart: (agent: string) => void }) {
  const { agents } = useData();
  const list = useReadable(agents);
  const blocked = useBlocked('run');
  if (list.kind === 'loading') return <Loading label="Reading the agents" rows={3} />;
  if (list.kind === 'failed')
    return (
      <ErrorState title="The agents could not be read." error={list.error} onRetry={() => agents.refresh()} />
    );
  if (list.value.length === 0)
    return (
      <EmptyState icon="agents" title="This server has no agents.">
        <p className="mb-2">It looks for manifests (`kind: Agent`) below the folder it was started in.</p>
        <Code text={'telltale init my-agent\ntelltale dev my-agent'} className="text-left" />
      </EmptyState>
    );
  return (
    <ul className="grid items-start gap-3 lg:grid-cols-2 2xl:grid-cols-3" aria-label="Agents">
      {list.value.map((agent) => (
        <li
          key={agent.name}
          className="flex flex-wrap items-start gap-3 rounded-lg border border-line bg-surface p-4 hover:border-line-strong"
        >
          <Icon name="agents" size={20} className="mt-0.5 text-accent" />
          <div className="min-w-0 flex-1 basis-60">
            <Link
              href={`/agents/${encodeURIComponent(agent.name)}`}
              className="font-semibold hover:underline"
            >
              {agent.name}
            </Link>
            <p className="text-ink-soft">{agent.description ?? 'No description.'}</p>
            <AgentFacts agent={agent} />
          </div>
          <Button
            kind="primary"
            icon="play"
            aria-label={`Start ${agent.name}`}
            blocked={agent.usable ? blocked : 'Its manifest has errors. Open the agent to see them.'}
            onClick={() => onStart(agent.name)}
          >
            Start
          </Button>
        </li>
      ))}
    </ul>
  );
}
