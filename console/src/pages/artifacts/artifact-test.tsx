import { type FormEvent, useState } from 'react';
import type { ArtifactInfo, ArtifactTestResult, TestArtifact } from '../../../../telltale/src/client/api.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { formatDuration } from '../../format/format-duration.ts';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { Field } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { TextArea } from '../../ui/text-area.tsx';
import { DEFAULT_CONTEXT, readTest, type TypedTest } from './test-input.ts';

export interface ArtifactTestProps {
  readonly artifact: Pick<ArtifactInfo, 'name' | 'version' | 'methods'>;
  /** The source of a draft, instead of the version's. */
  readonly source?: string;
}

/** Calls a version or a draft as a run would. Nothing is kept. */
export function ArtifactTest({ artifact, source }: ArtifactTestProps) {
  const { name, version, methods } = artifact;
  const blocked = useBlocked('run');
  const [typed, setTyped] = useState<TypedTest>({
    method: methods[0] ?? '',
    args: '[]',
    seed: '',
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

/** What an artifact returned, what that means, and its input. */
function TestOutcome({ outcome }: { readonly outcome: ArtifactTestResult }) {
  const { ok, value, meant, reason, message, ms, context } = outcome;
  const same = JSON.stringify(value) === JSON.stringify(meant);
  return (
    <div className="flex flex-col gap-3">
      <div className={cx('flex gap-2.5 rounded-md px-3 py-2', ok ? 'bg-done-soft' : 'bg-wait-soft')}>
        <Icon name={ok ? 'check' : 'alert'} className={cx('mt-0.5', ok ? 'text-done' : 'text-wait')} />
        <div className="min-w-0">
          <p className="font-semibold break-words">
            {ok ? 'It decided' : `It did not decide (${reason ?? 'failed'})`}, in {formatDuration(ms)}
          </p>
          {ok ? null : (
            <p className="break-words">
              {message} In a run, the fallback of the place that asks would count.
            </p>
          )}
        </div>
      </div>
      {value === undefined ? null : (
        <section>
          <h3 className="mb-1 text-small font-semibold text-ink-faint">It said</h3>
          <JsonView value={value} label="What it said" />
        </section>
      )}
      {!ok || same ? null : meant === undefined ? (
        <p className="text-small text-wait">This is not a decision, so a workflow would use its fallback.</p>
      ) : (
        <section>
          <h3 className="mb-1 text-small font-semibold text-ink-faint">That stands for</h3>
          <JsonView value={meant} label="What that stands for" />
        </section>
      )}
      <details className="text-small">
        <summary className="font-semibold text-ink-faint">The context that it was shown</summary>
        <JsonView value={context} label="Context" className="mt-1" />
      </details>
    </div>
  );
}
