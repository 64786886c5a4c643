import { Link } from 'wouter';
import { cx } from '../../ui/class-names.ts';
import { Code } from '../../ui/code.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { IconName } from '../../ui/icon-shapes.ts';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { sessionPath } from '../workflows/paths.ts';
import type { MemoryCard } from './memory-answer.ts';
import type { Question } from './question.ts';

const ICONS: Readonly<Record<MemoryCard['kind'], IconName>> = {
  ...{
    symbol: 'bolt',
    file: 'file',
    module: 'artifacts',
    fact: 'info',
    decision: 'check',
    session: 'sessions',
  },
};

export interface MemoryCardProps {
  readonly card: MemoryCard;
  readonly onAsk: (question: Question) => void;
}

/** One thing that the graph knows, and what it hangs together with. */
export const MemoryCardView = ({ card, onAsk }: MemoryCardProps) => (
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

/** Where a fact or session comes from, and whether it may no longer hold. */
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
