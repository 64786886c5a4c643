import type { ReactNode } from 'react';
import { cx } from '../../../ui/class-names.ts';
import { useSessionView } from '../session-view.ts';

export interface ItemFrameProps {
  /** The event of the item; 0 while it is only live. */
  readonly seq: number;
  /** The name of the item, for the button that opens its event. */
  readonly label: string;
  readonly children: ReactNode;
  readonly className?: string;
}

/** The frame of every item. Its number opens its event. */
export function ItemFrame({ seq, label, children, className }: ItemFrameProps) {
  const { selected, select } = useSessionView();
  const isSelected = seq !== 0 && selected === seq;
  return (
    <div
      className={cx(
        'group/item relative flex gap-2 border-l-2 py-1 pr-3 pl-2.5',
        isSelected ? 'border-accent bg-accent-soft' : 'border-transparent',
        className,
      )}
    >
      <div className="min-w-0 flex-1">{children}</div>
      {seq === 0 ? null : (
        <button
          type="button"
          onClick={() => select(seq)}
          aria-label={`${label}: event ${seq}`}
          className="mt-px h-5 shrink-0 self-start rounded px-1 font-mono text-micro text-ink-faint tabular-nums hover:bg-hover hover:text-accent"
        >
          {seq}
        </button>
      )}
    </div>
  );
}
