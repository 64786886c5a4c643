import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import type { TimeAxis } from '../model/time-axis.ts';
import type { WaterfallRow } from '../model/waterfall-rows.ts';
import type { RowWindow } from './use-row-window.ts';

/** The horizontal position where the rows in the middle start, and how far they may be from it. */
const PLACE = 0.3;
const NEAREST = 0.04;
const FARTHEST = 0.75;
/** The current moment may be further to the right. */
const LATEST = 0.92;

export interface AutoPanOptions {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly indexAt: RowWindow['indexAt'];
  readonly rows: readonly WaterfallRow[];
  readonly axis: TimeAxis;
  readonly gutter: number;
  /** The position on the axis to keep in view: the shown moment, while somebody follows it. */
  readonly followed: number | undefined;
}

/** Pans the axis while somebody scrolls down through time, so that the view is never empty. */
export function useAutoPan(options: AutoPanOptions): void {
  const latest = useRef(options);
  latest.current = options;
  const { scroller, followed, gutter: labels } = options;
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    // Before anybody scrolls, the view opens at the start, even if its last row is visible.
    let top = element.scrollTop;
    const onScroll = () => {
      if (element.scrollTop === top) return;
      top = element.scrollTop;
      const { indexAt, rows, axis, gutter } = latest.current;
      const view = element.clientWidth - gutter;
      if (axis.width <= view) return;
      const row = rows[indexAt(top + element.clientHeight * PLACE)];
      if (row === undefined) return;
      const x = axis.x(row.at);
      const away = (x - element.scrollLeft) / view;
      if (away < NEAREST || away > FARTHEST) element.scrollLeft = x - view * PLACE;
    };
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => element.removeEventListener('scroll', onScroll);
  }, [scroller]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || followed === undefined) return;
    const view = element.clientWidth - labels;
    const away = (followed - element.scrollLeft) / view;
    if (away < NEAREST || away > LATEST) element.scrollLeft = followed - view * FARTHEST;
  }, [scroller, followed, labels]);
}
