import { type FormEvent, useState } from 'react';
import type { ArtifactInfo, TestArtifact } from '../../../../telltale/src/client/api.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Field } from '../../ui/field.tsx';
import { TextArea } from '../../ui/text-area.tsx';
import { DEFAULT_CONTEXT, readTest, type TypedTest } from './test-input.ts';
import { TestOutcome } from './test-outcome.tsx';

export interface ArtifactTestProps {
  readonly artifact: Pick<ArtifactInfo, 'name' | 'version' | 'methods'>;
  /** In place of the version's: what a draft says. */
  readonly source?: string;
}

/** Asks a version, or a draft, as a run would. Nothing of it is kept. */
export function ArtifactTest({ artifact, source }: ArtifactTestProps) {
  const { name, version, methods } = artifact;
  const blocked = useBlocked('run');
  const [typed, setTyped] = useState<TypedTest>({
    ...{ method: methods[0] ?? '', args: '[]', seed: '' },
    context: JSON.stringify(DEFAULT_CONTEXT, null, 2),
  });
  const [outcome, setOutcome] = useState<Awaited<ReturnType<typeof ask.run>>>();
  const ask = useCall((client, options, test: TestArtifact) => client.testArtifact(name, test, options));
  const read = readTest(typed);
  const problems = read.ok ? {} : read.problems;
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    if (!read.ok || blocked !== undefined) return;
    setOutcome(await ask.run({ ...read.test, ...(source === undefined ? { version } : { source }) }));
  };
  return (
    <div className="grid gap-5 p-4 xl:grid-cols-2">
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
        <Field label="Method">
          {(tie) => (
            <select
              {...tie}
              value={typed.method}
              onChange={(event) => setTyped({ ...typed, method: event.target.value })}
            >
              {methods.map((method) => (
                <option key={method}>{method}</option>
              ))}
            </select>
          )}
        </Field>
        <TextArea
          label="Arguments"
          hint="A JSON list. A single value counts as a list of one."
          error={problems.args}
          rows={3}
          value={typed.args}
          onText={(args) => setTyped({ ...typed, args })}
          onSubmit={() => void submit()}
          className="font-mono text-small"
        />
        <TextArea
          label="Context"
          hint="Every decision gets it as its last argument."
          error={problems.context}
          rows={11}
          value={typed.context}
          onText={(context) => setTyped({ ...typed, context })}
          onSubmit={() => void submit()}
          className="font-mono text-small"
        />
        <Field label="Seed" optional hint="The same seed gives the same random choices.">
          {(tie) => (
            <input
              {...tie}
              value={typed.seed}
              autoComplete="off"
              onChange={(event) => setTyped({ ...typed, seed: event.target.value })}
            />
          )}
        </Field>
        <Button
          kind="primary"
          type="submit"
          icon="play"
          className="self-start"
          busy={ask.busy}
          blocked={blocked ?? (read.ok ? undefined : 'Fix the marked fields first.')}
        >
          Test
        </Button>
      </form>
      <div aria-live="polite">
        {ask.error !== undefined ? (
          <ErrorState title="The artifact could not be called." error={ask.error} />
        ) : outcome === undefined ? (
          <p className="text-ink-soft">The answer appears here. A test leaves nothing on the log.</p>
        ) : (
          <TestOutcome outcome={outcome} />
        )}
      </div>
    </div>
  );
}
