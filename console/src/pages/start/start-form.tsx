import { type FormEvent, useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { AgentInfo } from '../../../../telltale/src/client/api.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Kbd } from '../../ui/kbd.tsx';
import { Loading } from '../../ui/loading.tsx';
import { ModelField } from '../../ui/model-field.tsx';
import { TextArea } from '../../ui/text-area.tsx';
import { AgentFacts } from '../agents/agent-facts.tsx';
import { declaredVariables, readVariables, type StartVariable } from './start-variables.ts';
import { VariableFields } from './variable-fields.tsx';

export function StartForm({ agent }: { readonly agent: string }) {
  const details = useLoaded(`agent ${agent}`, (client, signal) => client.agent(agent, { signal }));
  const [, navigate] = useLocation();
  const [input, setInput] = useState('');
  const [chat, setChat] = useState(false);
  const [model, setModel] = useState('');
  const [typed, setTyped] = useState<readonly StartVariable[]>();
  const role = useBlocked('run');
  const start = useCall((client, options, vars: ReturnType<typeof readVariables>) =>
    client.startSession(
      {
        agent,
        input,
        ...(Object.keys(vars).length === 0 ? {} : { vars }),
        ...(chat ? { chat } : {}),
        ...(model.trim() === '' ? {} : { model: model.trim() }),
      },
      options,
    ),
  );
  if (details.kind === 'loading') return <Loading label="Reading the agent" />;
  if (details.kind === 'failed')
    return (
      <ErrorState
        title={`"${agent}" could not be read.`}
        list={{ href: '/start', label: 'Choose another agent' }}
        error={details.error}
        onRetry={details.reload}
      />
    );
  const variables = typed ?? declaredVariables(details.value.manifest);
  const unusable = details.value.usable ? undefined : 'The manifest of this agent has errors.';
  const { examples, models, model: ownModel } = details.value;
  const missing = input.trim() === '' ? 'Say what the agent should do first.' : undefined;
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    if (role !== undefined || unusable !== undefined || missing !== undefined) return;
    const session = await start.run(readVariables(variables));
    if (session !== undefined) navigate(`/sessions/${encodeURIComponent(session.id)}`);
  };
  return (
    <form
      onSubmit={submit}
      className="flex w-full max-w-3xl flex-col gap-5 rounded-lg border border-line bg-surface p-4 md:p-5"
    >
      <StartAgent agent={details.value} />
      <div className="flex flex-col gap-2">
        <TextArea
          label="What should the agent do?"
          rows={5}
          autoFocus
          value={input}
          onText={setInput}
          onSubmit={() => void submit()}
          placeholder={examples[0] ?? 'Describe the task in your own words.'}
        />
        {examples.length === 0 ? null : (
          <ul aria-label="Examples" className="flex flex-wrap items-center gap-1.5">
            {examples.map((example) => (
              <li key={example} className="min-w-0">
                <button
                  type="button"
                  onClick={() => setInput(example)}
                  className="max-w-full truncate rounded-full border border-line bg-canvas px-2.5 py-0.5 text-left text-small text-ink-soft hover:border-line-strong hover:bg-hover"
                >
                  {example}
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
      <ModelField value={model} own={ownModel} choices={models} onChange={setModel} />
      <VariableFields variables={variables} onChange={setTyped} />
      <label className="flex items-start gap-2">
        <input
          type="checkbox"
          className="mt-0.5 size-4 accent-accent"
          checked={chat}
          onChange={(event) => setChat(event.target.checked)}
        />
        <span>
          Keep it open as a chat
          <span className="block text-small text-ink-faint">
            After each answer the agent waits for your next message, until you end the session.
          </span>
        </span>
      </label>
      {start.error === undefined ? null : (
        <ErrorState title="The session was not started." error={start.error} onRetry={() => void submit()} />
      )}
      <div className="flex items-center gap-3">
        <Button
          kind="primary"
          type="submit"
          icon="play"
          busy={start.busy}
          blocked={unusable ?? role ?? missing}
        >
          Start
        </Button>
        <span className="hidden items-center gap-1 text-small text-ink-faint sm:flex">
          <Kbd>Ctrl</Kbd>
          <Kbd>Enter</Kbd>
        </span>
      </div>
    </form>
  );
}

/** The agent that the form starts, and a link to choose another one. */
const StartAgent = ({ agent }: { readonly agent: AgentInfo }) => (
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
