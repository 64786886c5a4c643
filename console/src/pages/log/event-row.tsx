import type { SessionEvent } from '../../../../telltale/src/log/event.ts';
import type { RunEvent } from '../../../../telltale/src/log/run-event.ts';
import { formatClock } from '../../format/format-time.ts';
import { cx } from '../../ui/class-names.ts';

export interface EventRowProps {
  readonly event: SessionEvent | RunEvent;
  /** The event in a few words. */
  readonly words: string;
  readonly top: number;
  readonly height: number;
  readonly isSelected: boolean;
  /** For short logs whose types have short names. */
  readonly isNarrow?: boolean;
  readonly select: (seq: number) => void;
}

/** An event in a virtual list. */
export const EventRow = ({
  event,
  words,
  top,
  height,
  isSelected,
  isNarrow = false,
  select,
}: EventRowProps) => (
  <li className="absolute left-0 w-full" style={{ top, height }}>
    <button
      type="button"
      aria-current={isSelected ? 'true' : undefined}
      onClick={() => select(event.seq)}
      className={cx(
        'flex h-full w-full items-center gap-3 px-3 text-left text-small whitespace-nowrap -outline-offset-2',
        isSelected ? 'bg-accent-soft' : 'hover:bg-hover',
      )}
    >
      <span
        className={cx(
          'shrink-0 text-right font-mono text-micro text-ink-faint tabular-nums',
          isNarrow ? 'w-8' : 'w-8 sm:w-12',
        )}
      >
        {event.seq}
      </span>
      <span className="hidden shrink-0 font-mono text-micro text-ink-faint tabular-nums sm:inline">
        {formatClock(event.at, true)}
      </span>
      <span className={cx('shrink-0 truncate font-mono text-micro', isNarrow ? 'w-32' : 'w-32 sm:w-40')}>
        {event.type}
      </span>
      <span className="max-w-[60rem] truncate text-ink-soft">{words}</span>
    </button>
  </li>
);
