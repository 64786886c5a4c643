import { type FormEvent, useState } from 'react';
import type { JsonObject } from '../../../../telltale/src/kernel/json.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useKept } from '../../data/use-kept.ts';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { readMemoryAnswer } from './memory-answer.ts';
import { MemoryResults } from './memory-results.tsx';
import type { Question, QuestionKind } from './question.ts';

const KINDS = [
  ['query', 'Words', 'Search by words'],
  ['symbol', 'Symbol', 'Name a function, class or type'],
  ['path', 'Path', 'Name a file'],
] as const satisfies readonly (readonly [QuestionKind, string, string])[];

const LIMIT = 20;

/** A question to the graph of an agent, and what it says. */
export function MemorySearch({ agent, onAnswer }: { readonly agent: string; readonly onAnswer: () => void }) {
  const blocked = useBlocked('run');
  const [kind, setKind] = useKept<QuestionKind>('memory.kind', 'query');
  const [text, setText] = useKept('memory.text', '');
  const [answer, setAnswer] = useState<{ readonly question: Question; readonly answer: JsonObject }>();
  const call = useCall((client, options, { kind: by, text: words }: Question) =>
    client.queryMemory({ agent, [by]: words, limit: LIMIT }, options),
  );
  const ask = async (question: Question) => {
    if (question.text.trim() === '' || blocked !== undefined) return;
    setKind(question.kind);
    setText(question.text);
    const got = await call.run({ ...question, text: question.text.trim() });
    if (got === undefined) return;
    setAnswer({ question, answer: got });
    onAnswer();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void ask({ kind, text });
  };
  const label = KINDS.find(([one]) => one === kind)?.[2] ?? 'Search';
  return (
    <>
      <form onSubmit={submit} className="flex flex-wrap items-center gap-2">
        <fieldset className="flex rounded-lg border border-line bg-surface p-0.5">
          <legend className="sr-only">Look for</legend>
          {KINDS.map(([one, name]) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === kind}
              onClick={() => setKind(one)}
              className={cx(
                'h-7 rounded-md px-2.5 text-small font-medium',
                one === kind ? 'bg-accent-soft text-accent' : 'text-ink-soft hover:bg-hover',
              )}
            >
              {name}
            </button>
          ))}
        </fieldset>
        <SearchField label={label} value={text} onChange={setText} />
        <Button
          type="submit"
          kind="primary"
          icon="search"
          busy={call.busy}
          blocked={blocked ?? (text.trim() === '' ? 'Say what to look for first.' : undefined)}
        >
          Search
        </Button>
      </form>
      {call.error === undefined ? null : <ErrorState title="The search failed." error={call.error} />}
      {answer === undefined ? (
        call.busy ? (
          <Loading label="Asking the graph" rows={5} />
        ) : (
          <EmptyState icon="search" title="Ask the graph.">
            By words, by the name of a symbol, or by a file’s path. What is found comes with what calls it,
            what it calls, and what sessions have learned about it.
          </EmptyState>
        )
      ) : (
        <MemoryResults view={readMemoryAnswer(answer.answer)} onAsk={(question) => void ask(question)} />
      )}
    </>
  );
}
