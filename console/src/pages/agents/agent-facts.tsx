import type { AgentInfo } from '../../../../telltale/src/client/api.ts';
import { plural } from '../../format/format-number.ts';
import { AgentHealth } from './agent-health.tsx';

/** One line of facts about an agent. */
export const AgentFacts = ({ agent }: { readonly agent: AgentInfo }) => (
  <p className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-small text-ink-faint">
    {agent.model === '' ? null : (
      <code className="max-w-full truncate rounded bg-sunken px-1.5 py-0.5" title="Model">
        {agent.model}
      </code>
    )}
    {agent.workflows.length === 0 ? null : <span>{plural(agent.workflows.length, 'workflow')}</span>}
    {agent.problems.length === 0 && agent.usable ? null : <AgentHealth agent={agent} />}
  </p>
);
