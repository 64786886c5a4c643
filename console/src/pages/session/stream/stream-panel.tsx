import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useRef, useState } from 'react';
import { Button } from '../../../ui/button.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { Panel } from '../../../ui/panel.tsx';
import { SteerBox } from '../header/steer-box.tsx';
import { itemsUntil, withLive } from '../model/stream.ts';
import { isItemOf, itemKey } from '../model/stream-items.ts';
import { useSessionView } from '../session-view.ts';
import { StreamRow } from './stream-row.tsx';
import { useStickToEnd } from './use-stick-to-end.ts';

/** The conversation as it comes. Follows its end until somebody scrolls away from it. */
export const StreamPanel = memo(function StreamPanel({ className }: { readonly className?: string }) {
  const { model, moment, isLive, selected } = useSessionView();
  const scroller = useRef<HTMLDivElement>(null);
  const all = itemsUntil(model.stream.items, moment.seq);
  const [tail, setTail] = useState(TAIL);
  const earlier = Math.max(0, all.length - tail);
  const items = isLive
    ? withLive(model.stream, model.live(), { first: earlier, at: moment.at })
    : all.slice(earlier);
  const count = items.length;
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => ESTIMATES[items[index]?.kind ?? 'note'] ?? 40,
    getItemKey: (index) => {
      const item = items[index];
      return item === undefined ? index : item.seq === 0 ? `live ${item.kind} ${index}` : itemKey(item);
    },
    overscan: 4,
    paddingStart: 12,
    paddingEnd: 16,
  });
  const stick = useStickToEnd(scroller, virtual.getTotalSize());
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new choice moves the conversation.
  useEffect(() => {
    const at = selected === undefined ? -1 : items.findLastIndex((item) => isItemOf(item, selected));
    if (at < 0) return;
    stick.leave();
    virtual.scrollToIndex(at, { align: 'center' });
  }, [selected]);
  return (
    <Panel
      title="Conversation"
      bodyClassName="relative flex min-h-0 flex-col"
      {...(className === undefined ? {} : { className })}
    >
      <div
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Conversation"
        className="min-h-0 flex-1 overflow-y-auto -outline-offset-2"
      >
        {count === 0 ? <EmptyState icon="message" title="Nothing has been said yet." /> : null}
        {earlier > 0 ? (
          <div className="flex justify-center pt-2">
            <Button size="small" kind="quiet" onClick={() => setTail(tail + TAIL)}>
              Show more of the {earlier.toLocaleString('en')} before this
            </Button>
          </div>
        ) : null}
        <div className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, key }) => {
            const item = items[index];
            return item === undefined ? null : (
              <div
                key={String(key)}
                ref={virtual.measureElement}
                data-index={index}
                className="absolute top-0 left-0 w-full"
                style={{ transform: `translateY(${start}px)` }}
              >
                <StreamRow item={item} />
              </div>
            );
          })}
        </div>
      </div>
      {stick.isAway && isLive ? (
        <div className="pointer-events-none absolute inset-x-0 bottom-16 flex justify-center">
          <Button
            size="small"
            kind="primary"
            className="pointer-events-auto shadow-float"
            onClick={stick.toEnd}
          >
            To the newest
          </Button>
        </div>
      ) : null}
      <SteerBox />
    </Panel>
  );
});

/** Items that are there at first, and how many more at a time: the page has to work out where each one lies. */
const TAIL = 300;

/** Pixels, until an item has been measured. */
const ESTIMATES: Readonly<Record<string, number>> = {
  ...{
    message: 64,
    turn: 40,
    thought: 84,
    text: 60,
    response: 84,
    action: 42,
    metadata: 36,
    run: 36,
    note: 36,
  },
};
