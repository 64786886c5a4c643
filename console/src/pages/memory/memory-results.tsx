import { EmptyState } from '../../ui/empty-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { MemoryAnswerView, MemoryCard } from './memory-answer.ts';
import { MemoryCardView } from './memory-card.tsx';
import type { Question } from './question.ts';

export interface MemoryResultsProps {
  readonly view: MemoryAnswerView;
  readonly onAsk: (question: Question) => void;
}

/** What was asked for, then what stands around it. */
export const MemoryResults = ({ view: { found, around, note }, onAsk }: MemoryResultsProps) => (
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
