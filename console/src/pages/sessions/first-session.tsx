import { useLocation } from 'wouter';
import type { AgentInfo } from '../../../../telltale/src/client/api.ts';
import { useReadable } from '../../data/readable.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { useKept } from '../../data/use-kept.ts';
import { Button } from '../../ui/button.tsx';
import { Code } from '../../ui/code.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { TOUR, TOUR_KEY } from '../session/tour.ts';
import { AgentChoices } from '../start/agent-choices.tsx';

/**
 * A newcomer's first page: an agent that runs with one click, what to look at then, and all agents that can be started.
 */
export function FirstSession() {
  const [, navigate] = useLocation();
  const agents = useReadable(useData().agents);
  const example = agents.kind === 'ready' ? agents.value.find(runsForFree) : undefined;
  return (
    <div className="flex w-full flex-col gap-6 py-2">
      <div className="flex max-w-3xl flex-col gap-2">
        <h2 className="text-display font-semibold tracking-tight">Start an agent, and watch it work.</h2>
        <p className="text-lead text-ink-soft">
          Every run of an agent is a session. You see what the agent thinks, which actions it starts and when,
          and what it asks you. Nothing has run here yet.
        </p>
      </div>
      {example === undefined ? null : <FirstRun agent={example} />}
      <section aria-labelledby="first-agents" className="flex flex-col gap-3">
        <h2 id="first-agents" className="text-lead font-semibold">
          {example === undefined ? 'Your agents' : 'Or start one yourself'}
        </h2>
        <AgentChoices onStart={(agent) => navigate(`/start/${encodeURIComponent(agent)}`)} />
      </section>
      <div className="max-w-3xl text-small text-ink-faint">
        <p className="mb-1">
          Sessions you start on the command line appear here too, if they use the same store:
        </p>
        <Code text={'telltale run agent.yml "Add a --json flag"'} />
      </div>
    </div>
  );
}

/** An agent with an example and a scripted model: a click costs nothing and needs no key. */
const runsForFree = ({ usable, examples, model }: AgentInfo): boolean =>
  usable && examples.length > 0 && model.startsWith('scripted:');

function FirstRun({ agent: { name, description, examples } }: { readonly agent: AgentInfo }) {
  const [, navigate] = useLocation();
  const [, setTour] = useKept<string | undefined>(TOUR_KEY, undefined);
  const blocked = useBlocked('run');
  const [input = ''] = examples;
  const start = useCall((client, options) => client.startSession({ agent: name, input }, options));
  const onStart = async () => {
    const session = await start.run();
    if (session === undefined) return;
    setTour(session.id);
    navigate(`/sessions/${encodeURIComponent(session.id)}`);
  };
  return (
    <section
      aria-labelledby="first-run"
      className="grid gap-x-8 gap-y-4 rounded-lg border border-accent/40 bg-accent-soft p-4 md:p-5 lg:grid-cols-[minmax(0,5fr)_minmax(0,7fr)]"
    >
      <div className="flex min-w-0 flex-col gap-3">
        <h2 id="first-run" className="text-title font-semibold">
          Take the tour
        </h2>
        <p>
          <strong className="font-semibold">{name}</strong>: {description ?? 'An example agent.'} Its model is
          a script, so it needs no key and costs nothing.
        </p>
        <blockquote className="border-l-2 border-accent pl-3 text-ink-soft">{input}</blockquote>
        {start.error === undefined ? null : (
          <ErrorState
            title="The session was not started."
            error={start.error}
            onRetry={() => void onStart()}
          />
        )}
        <Button
          kind="primary"
          icon="play"
          className="self-start"
          busy={start.busy}
          blocked={blocked}
          onClick={() => void onStart()}
        >
          Run it and take the tour
        </Button>
      </div>
      <div className="min-w-0">
        <p className="mb-1.5 font-semibold">What you will look at</p>
        <ol className="flex list-decimal flex-col gap-1 pl-5">
          {TOUR.map(({ title, text }) => (
            <li key={title}>
              <span className="font-medium">{title}.</span> <span className="text-ink-soft">{text}</span>
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}
