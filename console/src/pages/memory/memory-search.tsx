import { type FormEvent, useState } from 'react';
import { Link } from 'wouter';
import type { JsonObject } from '../../../../telltale/src/lib/json.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useKept } from '../../data/use-kept.ts';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { Code } from '../../ui/code.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { IconName } from '../../ui/icon-shapes.ts';
import { Loading } from '../../ui/loading.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { sessionPath } from '../workflows/paths.ts';
import { type MemoryAnswerView, type MemoryCard, readMemoryAnswer } from './memory-answer.ts';

const KINDS = [
  ['query', 'Words', 'Search by words'],
  ['symbol', 'Symbol', 'Name a function, class or type'],
  ['path', 'Path', 'Name a file'],
] as const satisfies readonly (readonly [QuestionKind, string, string])[];

const LIMIT = 20;

/** Asks an agent's graph a question, and shows the answer. */
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

interface MemoryResultsProps {
  readonly view: MemoryAnswerView;
  readonly onAsk: (question: Question) => void;
}

/** The searched nodes, then those around them. */
const MemoryResults = ({ view: { found, around, note }, onAsk }: MemoryResultsProps) => (
  <>
    {note === undefined ? null : (
      <p role="status" className="flex gap-2 text-ink-soft">
        <Icon name="info" className="mt-0.5 text-accent" />
        {note}
      </p>
    )}
    {found.length + around.length === 0 ? (
      <EmptyState icon="memory" title="Nothing found.">
        Other words may do; or the folder has not been looked at yet, which happens when the agent first runs
        or by “telltale memory index”.
      </EmptyState>
    ) : null}
    <Cards title="Found" cards={found} onAsk={onAsk} />
    <Cards title="Around it" cards={around} onAsk={onAsk} />
  </>
);

interface CardsProps {
  readonly title: string;
  readonly cards: readonly MemoryCard[];
  readonly onAsk: (question: Question) => void;
}

const Cards = ({ title, cards, onAsk }: CardsProps) =>
  cards.length === 0 ? null : (
    <section aria-label={title}>
      <h2 className="mb-2 text-body font-semibold">
        {title} <span className="font-normal text-ink-faint tabular-nums">{cards.length}</span>
      </h2>
      <ul className="flex flex-col gap-2.5">
        {cards.map((card, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two symbols may stand on one line.
          <MemoryCardView key={`${card.key} ${at}`} card={card} onAsk={onAsk} />
        ))}
      </ul>
    </section>
  );

const ICONS: Readonly<Record<MemoryCard['kind'], IconName>> = {
  symbol: 'bolt',
  file: 'file',
  module: 'artifacts',
  fact: 'info',
  decision: 'check',
  session: 'sessions',
};

interface MemoryCardProps {
  readonly card: MemoryCard;
  readonly onAsk: (question: Question) => void;
}

/** One node of the graph and its relations. */
const MemoryCardView = ({ card, onAsk }: MemoryCardProps) => (
  <li className="rounded-lg border border-line bg-surface p-3">
    <div className="flex flex-wrap items-baseline gap-x-2.5 gap-y-0.5">
      <Icon name={ICONS[card.kind]} size={14} className="self-center text-accent" />
      <span className="min-w-0 font-semibold break-words">{card.title}</span>
      <span className="text-small text-ink-faint">{card.what ?? card.kind}</span>
      {card.at === undefined ? null : (
        <button
          type="button"
          title="What else is in this file"
          onClick={() => onAsk({ kind: 'path', text: (card.at ?? '').replace(/:\d+$/, '') })}
          className="ml-auto font-mono text-small break-all text-accent hover:underline"
        >
          {card.at}
        </button>
      )}
    </div>
    {card.doc === undefined ? null : <p className="mt-1 text-ink-soft">{card.doc}</p>}
    {card.snippet !== undefined ? (
      <Code text={card.snippet} className="mt-2" />
    ) : card.signature !== undefined ? (
      <p className="mt-1 font-mono text-small break-words text-ink-soft">{card.signature}</p>
    ) : null}
    {card.defines === undefined || card.defines.length === 0 ? null : (
      <p className="mt-1 text-small break-words text-ink-soft">defines {card.defines.join(', ')}</p>
    )}
    <Provenance card={card} />
    {card.relations.length === 0 ? null : (
      <dl className="mt-2 flex flex-col gap-1 text-small">
        {card.relations.map(({ label, to }) => (
          <div key={label} className="flex gap-2">
            <dt className="w-24 shrink-0 text-ink-faint">{label}</dt>
            <dd className="flex min-w-0 flex-wrap gap-x-2.5 gap-y-0.5">
              {to.map(({ key, title, symbol }) =>
                symbol === undefined ? (
                  <span key={key} className="break-all text-ink-soft">
                    {title}
                  </span>
                ) : (
                  <button
                    key={key}
                    type="button"
                    title={key}
                    onClick={() => onAsk({ kind: 'symbol', text: symbol })}
                    className="text-accent hover:underline"
                  >
                    {title}
                  </button>
                ),
              )}
            </dd>
          </div>
        ))}
      </dl>
    )}
  </li>
);

/** Where a fact or session comes from, and whether it may be out of date. */
function Provenance({ card: { kind, session, commit, atMs, stale = [] } }: { readonly card: MemoryCard }) {
  if (session === undefined && commit === undefined && atMs === undefined && stale.length === 0) return null;
  return (
    <p className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-0.5 text-small text-ink-faint">
      {session === undefined ? null : (
        <span>
          {kind === 'session' ? '' : 'learned in '}
          <Link href={sessionPath(session)} className="text-accent underline">
            {session}
          </Link>
        </span>
      )}
      {atMs === undefined ? null : <RelativeTime at={atMs} />}
      {commit === undefined ? null : <span className="font-mono">at {commit.slice(0, 10)}</span>}
      {stale.length === 0 ? null : (
        <span className={cx('inline-flex items-center gap-1 font-medium text-wait')}>
          <Icon name="alert" size={12} />
          may be stale: {stale.join(', ')} changed since
        </span>
      )}
    </p>
  );
}
/** What a question names: words, a symbol, or a file. */
type QuestionKind = 'query' | 'symbol' | 'path';

interface Question {
  readonly kind: QuestionKind;
  readonly text: string;
}
