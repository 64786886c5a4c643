import { Link } from 'wouter';
import type { AgentInfo } from '../../../../telltale/src/client/api.ts';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { AgentHealth } from './agent-health.tsx';

export const AgentSummary = ({ agent }: { readonly agent: AgentInfo }) => (
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
