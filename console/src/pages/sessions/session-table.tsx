import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { plural } from '../../format/format-number.ts';
import { useKeys } from '../../shell/use-keys.ts';
import { Button } from '../../ui/button.tsx';
import { SessionHead } from './session-head.tsx';
import { SessionLine } from './session-line.tsx';
import type { SessionRow } from './session-rows.ts';

export interface SessionTableProps {
  readonly rows: readonly SessionRow[];
  readonly more: boolean;
  readonly busy: boolean;
  readonly onMore: () => void;
}

const ROW_PIXELS = 60;
const OVERSCAN = 8;

/** Only the rows in view are in the document: ten thousand scroll as ten do. */
export function SessionTable({ rows, more, busy, onMore }: SessionTableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PIXELS,
    overscan: OVERSCAN,
    // Rows that come a frame late cost less than a frame that comes late.
    useFlushSync: false,
    getItemKey: (at) => rows[at]?.session.id ?? at,
  });
  const chosen = useRef(-1);
  useKeys((key) => {
    if (key !== 'j' && key !== 'k') return false;
    const to = Math.min(rows.length - 1, Math.max(0, chosen.current + (key === 'j' ? 1 : -1)));
    chosen.current = to;
    virtual.scrollToIndex(to);
    // The row may come into the document only now.
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-at="${to}"] a`)?.focus({ preventScroll: true }),
    );
    return true;
  });
  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-hidden rounded-lg border border-line bg-surface">
      <SessionHead />
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
        <ul aria-label="Sessions" className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <SessionLine
                key={key}
                row={row}
                at={index}
                of={rows.length}
                top={start}
                measure={virtual.measureElement}
              />
            );
          })}
        </ul>
      </div>
      <div className="flex shrink-0 items-center justify-between gap-2 border-t border-line px-3 py-1.5 text-small text-ink-faint">
        <span>{plural(rows.length, 'session')}</span>
        {more ? (
          <Button size="small" kind="quiet" busy={busy} onClick={onMore}>
            Load more
          </Button>
        ) : null}
      </div>
    </div>
  );
}
