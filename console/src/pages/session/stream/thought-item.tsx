import { cx } from '../../../ui/class-names.ts';
import { ItemFrame } from './item-frame.tsx';
import { LongText } from './long-text.tsx';

export interface ThoughtItemProps {
  readonly seq: number;
  readonly depth: number;
  readonly text: string;
  readonly open: boolean;
}

/** Deeper thoughts stand further in, up to this. */
const INDENTS = ['', 'ml-4', 'ml-8', 'ml-12'];

export const ThoughtItem = ({ seq, depth, text, open }: ThoughtItemProps) => (
  <ItemFrame seq={seq} label="Thought">
    <div className={cx('border-l-2 border-line pl-2.5', INDENTS[Math.min(depth, INDENTS.length - 1)])}>
      <p className="text-micro font-medium text-ink-faint">
        Thought{open ? <span className="ml-1 animate-breathe text-accent">…</span> : null}
      </p>
      <LongText text={text} markdown className="text-ink-soft italic" />
    </div>
  </ItemFrame>
);
