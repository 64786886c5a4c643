import { type RefObject, useLayoutEffect, useRef } from 'react';
import type { RowWindow } from './use-row-window.ts';

/** So near to its end somebody counts as looking at it. */
const NEAR_PX = 60;

/**
 * Keeps the end of a list in view as it grows or shrinks, until somebody scrolls away from it. `isMoving`: the end is
 * where things happen, so it is gone to at once.
 */
export function useFollow(
  scroller: RefObject<HTMLElement | null>,
  scrollTo: RowWindow['scrollTo'],
  count: number,
  isMoving: boolean,
): void {
  const isAtEnd = useRef(isMoving);
  const before = useRef(count);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const onScroll = () => {
      isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR_PX;
    };
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => element.removeEventListener('scroll', onScroll);
  }, [scroller]);
  useLayoutEffect(() => {
    const shrank = count < before.current;
    before.current = count;
    if ((isAtEnd.current || shrank) && count > 0) {
      scrollTo(count - 1, 'end');
      isAtEnd.current = true;
    }
  }, [count, scrollTo]);
}
