import { type RefObject, useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { TurnRow } from '../model/waterfall-rows.ts';
import { AXIS_HEIGHT, rowPlaces } from './layout.ts';

export interface ShownRow {
  readonly index: number;
  readonly top: number;
  readonly height: number;
}

/** The rows in view. */
export interface RowWindow {
  readonly shown: readonly ShownRow[];
  /** The height of all rows. */
  readonly height: number;
  readonly left: number;
  readonly indexAt: (y: number) => number;
  readonly turnOf: (index: number) => TurnRow | undefined;
  /** Scrolls a row into view, as little as possible. */
  readonly scrollTo: (index: number) => void;
}

/** How many rows above and below the view are drawn too. */
const SPARE = 4;
const PADDING = 12;

export function useRowWindow(
  scroller: RefObject<HTMLElement | null>,
  turns: readonly TurnRow[],
  count: number,
  isPinned: boolean,
): RowWindow {
  const places = useMemo(() => rowPlaces(turns), [turns]);
  const [view, setView] = useState({ top: 0, left: 0, height: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = () =>
      setView({ top: element.scrollTop, left: element.scrollLeft, height: element.clientHeight });
    look();
    element.addEventListener('scroll', look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      observer.disconnect();
    };
  }, [scroller]);
  const height = places.top(count) + PADDING;
  // A view at the end must be drawn there at once when the rows get fewer.
  const end = Math.max(0, height + AXIS_HEIGHT - view.height);
  const top = isPinned ? end : Math.min(view.top, end);
  const first = Math.max(0, places.indexAt(top - AXIS_HEIGHT, count) - SPARE);
  const last = Math.min(count, places.indexAt(top + view.height, count) + 1 + SPARE);
  const shown: ShownRow[] = [];
  for (let index = first; index < last; index++)
    shown.push({ index, top: places.top(index), height: places.height(index) });

  const latest = useRef(count);
  latest.current = count;
  const scrollTo = useCallback(
    (index: number) => {
      const element = scroller.current;
      if (element === null) return;
      const from = places.top(index);
      const least = from + places.height(index) + AXIS_HEIGHT + PADDING - element.clientHeight;
      element.scrollTop = Math.max(least, Math.min(element.scrollTop, from));
    },
    [scroller, places],
  );
  return {
    shown,
    height,
    scrollTo,
    left: view.left,
    turnOf: places.turnOf,
    indexAt: (y) => Math.min(latest.current - 1, places.indexAt(y, latest.current)),
  };
}
