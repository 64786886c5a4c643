import type { SessionEvent } from '../../../../../telltale/src/events/event.ts';
import { formatClock } from '../../../format/format-time.ts';
import { cx } from '../../../ui/class-names.ts';
import { describeEvent } from '../model/event-clause.ts';

export interface EventRowProps {
  readonly event: SessionEvent;
  readonly top: number;
  readonly height: number;
  readonly isSelected: boolean;
  readonly select: (seq: number) => void;
}

export const EventRow = ({ event, top, height, isSelected, select }: EventRowProps) => (
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
      <span className="w-12 shrink-0 text-right font-mono text-micro text-ink-faint tabular-nums">
        {event.seq}
      </span>
      <span className="shrink-0 font-mono text-micro text-ink-faint tabular-nums">
        {formatClock(event.at, true)}
      </span>
      <span className="w-40 shrink-0 truncate font-mono text-micro">{event.type}</span>
      <span className="max-w-[60rem] truncate text-ink-soft">{describeEvent(event)}</span>
    </button>
  </li>
);
