import { Link, useLocation } from 'wouter';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { Page } from '../../shell/page.tsx';
import { AgentChoices } from './agent-choices.tsx';
import { StartForm } from './start-form.tsx';

/** First the agent, then its task. With only one agent, there is nothing to choose. */
export function StartPage({ agent }: { readonly agent: string | undefined }) {
  const [, navigate] = useLocation();
  const list = useReadable(useData().agents);
  const only = list.kind === 'ready' && list.value.length === 1 ? list.value[0] : undefined;
  const name = agent ?? (only?.usable === true ? only.name : undefined);
  const crumbs = (
    <Link href="/sessions" className="hover:underline">
      Sessions
    </Link>
  );
  return (
    <Page title={name === undefined ? 'Start a session' : `Start ${name}`} crumbs={crumbs}>
      {name === undefined ? (
        <AgentChoices onStart={(chosen) => navigate(`/start/${encodeURIComponent(chosen)}`)} />
      ) : (
        <StartForm key={name} agent={name} />
      )}
    </Page>
  );
}
