import { Icon } from '../../../ui/icon.tsx';
import { ItemFrame } from './item-frame.tsx';
import { LongText } from './long-text.tsx';

export interface ResponseItemProps {
  readonly seq: number;
  readonly text: string;
  readonly final: boolean | 'open';
  readonly speaker?: string | undefined;
}

const WORDS = { true: 'Answer', false: 'Meanwhile', open: 'Answering' } as const;

/** What the agent says to people. While it comes, a `$name` in it stands for a result that is still awaited. */
export function ResponseItem({ seq, text, final, speaker }: ResponseItemProps) {
  const awaited = final === 'open' ? [...new Set(text.match(/(?<!\$)\$[A-Za-z_]\w*/g) ?? [])] : [];
  return (
    <ItemFrame seq={seq} label="Response">
      <div
        className={
          final === true
            ? 'rounded-lg border border-done/50 bg-done-soft px-3 py-2'
            : 'rounded-lg border border-line bg-canvas px-3 py-2'
        }
      >
        <p className="mb-0.5 flex items-center gap-1.5 text-small font-semibold">
          <Icon
            name={final === true ? 'check' : 'message'}
            size={13}
            className={final === true ? 'text-done' : 'text-ink-faint'}
          />
          {WORDS[String(final) as keyof typeof WORDS]}
          {speaker === undefined ? null : <span className="text-ink-faint">{` by ${speaker}`}</span>}
          {final === 'open' ? <span className="animate-breathe text-accent">…</span> : null}
        </p>
        <LongText text={text} markdown />
        {awaited.length > 0 ? (
          <p className="mt-1 text-small text-wait">Waits for {awaited.join(', ')}</p>
        ) : null}
      </div>
    </ItemFrame>
  );
}
