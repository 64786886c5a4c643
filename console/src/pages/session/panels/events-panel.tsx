import { useVirtualizer } from '@tanstack/react-virtual';
import { useDeferredValue, useId, useMemo, useRef, useState } from 'react';
import { plural } from '../../../format/format-number.ts';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { EventRow } from '../../log/event-row.tsx';
import { describeEvent } from '../model/event-clause.ts';
import { filterEvents, groupsOf } from '../model/event-filter.ts';
import { useSessionView } from '../session-view.ts';
import { useRested } from '../use-rested.ts';

const ROW = 28;

/** The raw log up to the shown moment. */
export function EventsPanel() {
  const { model, moment, isLive, version, selected, select } = useSessionView();
  const seq = useRested(moment.seq, isLive);
  const [group, setGroup] = useState('');
  const [text, setText] = useState('');
  const wanted = useDeferredValue(text);
  const ids = useId();
  const scroller = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the events, which stay one list, are more.
  const passed = useMemo(
    () => filterEvents(model.events, { group, text: wanted }, seq),
    [model, group, wanted, seq, version],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const groups = useMemo(() => [...groupsOf(model.events, seq)].sort(), [model, seq, version]);
  const virtual = useVirtualizer({
    count: passed.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 10,
  });
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex shrink-0 flex-wrap items-center gap-2 border-b border-line p-2 text-small">
        <label htmlFor={`${ids}-text`} className="sr-only">
          Find events
        </label>
        <input
          id={`${ids}-text`}
          type="search"
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder="Find in type, text or JSON…"
          className="h-7 min-w-40 flex-1 rounded-md border border-line-strong bg-surface px-2 placeholder:text-ink-faint"
        />
        <label htmlFor={`${ids}-group`} className="sr-only">
          Kind of events
        </label>
        <select
          id={`${ids}-group`}
          value={group}
          onChange={(event) => setGroup(event.target.value)}
          className="h-7 rounded-md border border-line-strong bg-surface px-1.5"
        >
          <option value="">All kinds</option>
          {groups.map(([name, count]) => (
            <option key={name} value={name}>
              {name} ({count.toLocaleString('en')})
            </option>
          ))}
        </select>
        <span role="status" className="text-ink-faint tabular-nums">
          {plural(passed.length, 'event')}
        </span>
      </div>
      <div ref={scroller} className="min-h-0 flex-1 overflow-auto">
        {passed.length === 0 ? (
          <EmptyState icon="search" title="No events match." />
        ) : (
          <ol className="relative min-w-max" aria-label="Events" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, start }) => {
              const event = passed[index];
              return event === undefined ? null : (
                <EventRow
                  key={event.seq}
                  {...{ event, words: describeEvent(event), top: start, height: ROW, select }}
                  isSelected={selected === event.seq}
                />
              );
            })}
          </ol>
        )}
      </div>
    </div>
  );
}
