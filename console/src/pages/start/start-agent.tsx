import { Link } from 'wouter';
import type { AgentInfo } from '../../../../telltale/src/client/api.ts';
import { AgentFacts } from '../agents/agent-facts.tsx';

/** Which agent the form starts, and the way to another one. */
export const StartAgent = ({ agent }: { readonly agent: AgentInfo }) => (
  <div className="flex flex-wrap items-start justify-between gap-3 border-b border-line pb-4">
    <div className="min-w-0 flex-1 basis-60">
      <p className="text-ink-soft">{agent.description ?? 'No description.'}</p>
      <AgentFacts agent={agent} />
    </div>
    <div className="flex shrink-0 gap-3 text-small font-medium text-accent">
      <Link href={`/agents/${encodeURIComponent(agent.name)}`} className="hover:underline">
        Manifest
      </Link>
      <Link href="/start" className="hover:underline">
        Another agent
      </Link>
    </div>
  </div>
);
