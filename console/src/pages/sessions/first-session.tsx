import { useLocation } from 'wouter';
import { Code } from '../../ui/code.tsx';
import { AgentChoices } from '../start/agent-choices.tsx';

/** What a newcomer sees: what this page will show, and the agents that can be started. */
export function FirstSession() {
  const [, navigate] = useLocation();
  return (
    <div className="flex w-full max-w-3xl flex-col gap-6 py-4">
      <div className="flex flex-col gap-2">
        <h2 className="text-display font-semibold tracking-tight">Start an agent, and watch it work.</h2>
        <p className="max-w-2xl text-lead text-ink-soft">
          Each run of an agent is a session. You will see it think and act as it goes, what state it says it
          is in, the workflows that sets off, and what it asks of you. Nothing has run here yet.
        </p>
      </div>
      <AgentChoices onStart={(agent) => navigate(`/start/${encodeURIComponent(agent)}`)} />
      <div className="text-small text-ink-faint">
        <p className="mb-1">Sessions that are started elsewhere on the same store appear here, too:</p>
        <Code text={'telltale run agent.yml "Add a --json flag"'} />
      </div>
    </div>
  );
}
