import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { type AxisSpan, createTimeAxis, fitScale, type TimeAxis } from '../model/time-axis.ts';

/** The maximum zoom. */
const MAX_PX_PER_MS = 40;
const STEP = 1.4;

export interface Zoom {
  readonly axis: TimeAxis;
  readonly isFit: boolean;
  /** Zooms in (or out, below 1) by a factor, around a position of the viewport or its center. */
  readonly by: (factor: number, place?: number) => void;
  readonly fit: () => void;
  readonly pan: (share: number) => void;
}

export interface ZoomFrame {
  readonly scroller: RefObject<HTMLElement | null>;
  /** The width of the axis in the viewport. */
  readonly width: number;
  readonly gutter: number;
}

/** The scale of the axis. The whole session fits, even while it grows, until somebody zooms. */
export function useZoom(span: AxisSpan, { scroller, width, gutter }: ZoomFrame): Zoom {
  const [scale, setScale] = useState<number | 'fit'>('fit');
  const fitted = fitScale(span, width);
  const pxPerMs = scale === 'fit' ? fitted : Math.max(fitted, scale);
  const axis = createTimeAxis(span, pxPerMs);
  /** The time that must keep its position on the screen. */
  const kept = useRef<{ at: number; place: number } | undefined>(undefined);
  const latest = useRef({ axis, fitted });
  latest.current = { axis, fitted };

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || kept.current === undefined) return;
    element.scrollLeft = axis.x(kept.current.at) - kept.current.place;
    kept.current = undefined;
  });

  const by = useCallback(
    (factor: number, place?: number) => {
      const element = scroller.current;
      if (element === null) return;
      const { axis: now, fitted: least } = latest.current;
      const middle = place ?? (element.clientWidth - gutter) / 2;
      kept.current = { at: now.at(element.scrollLeft + middle), place: middle };
      const next = Math.min(MAX_PX_PER_MS, now.pxPerMs * factor);
      setScale(next <= least ? 'fit' : next);
    },
    [scroller, gutter],
  );
  const fit = useCallback(() => setScale('fit'), []);
  const pan = useCallback(
    (share: number) => scroller.current?.scrollBy({ left: share * scroller.current.clientWidth }),
    [scroller],
  );
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    // React's wheel listeners are passive, so the whole page would zoom too.
    const onWheel = (event: WheelEvent) => {
      if (!(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      const place = event.clientX - element.getBoundingClientRect().left - gutter;
      by(event.deltaY < 0 ? STEP : 1 / STEP, Math.max(0, place));
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [scroller, gutter, by]);
  return { axis, isFit: pxPerMs === fitted, by, fit, pan };
}
