import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { formatClock } from '../../../format/format-time.ts';
import { cx } from '../../../ui/class-names.ts';
import { runEventClause } from '../../session/model/run-event-clause.ts';
import { useRunView } from '../run-view.ts';

const ROW = 28;

/** The log up to the moment, however long it is. */
export function RunEventsPanel() {
  const { model, seq, selected, select } = useRunView();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: seq,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 10,
  });
  return (
    <div ref={scroller} className="h-full max-h-[70vh] min-h-40 overflow-auto lg:max-h-none">
      <ol className="relative min-w-max" aria-label="Events" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const event = model.events[index];
          return event === undefined ? null : (
            <li key={event.seq} className="absolute left-0 w-full" style={{ top: start, height: ROW }}>
              <button
                type="button"
                aria-current={selected === event.seq ? 'true' : undefined}
                onClick={() => select(event.seq)}
                className={cx(
                  'flex h-full w-full items-center gap-3 px-3 text-left text-small whitespace-nowrap -outline-offset-2',
                  selected === event.seq ? 'bg-accent-soft' : 'hover:bg-hover',
                )}
              >
                <span className="w-8 shrink-0 text-right font-mono text-micro text-ink-faint tabular-nums">
                  {event.seq}
                </span>
                <span className="shrink-0 font-mono text-micro text-ink-faint tabular-nums">
                  {formatClock(event.at, true)}
                </span>
                <span className="w-32 shrink-0 truncate font-mono text-micro">{event.type}</span>
                <span className="max-w-[60rem] truncate text-ink-soft">{runEventClause(event)}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
