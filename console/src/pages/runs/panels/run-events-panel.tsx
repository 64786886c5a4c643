import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { EventRow } from '../../log/event-row.tsx';
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
            <EventRow
              key={event.seq}
              {...{ event, words: runEventClause(event), top: start, height: ROW, select }}
              isSelected={selected === event.seq}
              isNarrow
            />
          );
        })}
      </ol>
    </div>
  );
}
