import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';

/** So near to its end somebody counts as looking at it. */
const NEAR_PX = 60;

/**
 * Whether the end of a list is to be in view as it grows or shrinks: until somebody scrolls away from it. `isMoving`: the
 * end is where things happen, so it is gone to at once.
 */
export function useFollow(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  isMoving: boolean,
): boolean {
  const isAtEnd = useRef(isMoving);
  const before = useRef(count);
  const isPinned = isAtEnd.current || count < before.current;
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    let top = element.scrollTop;
    const onScroll = () => {
      // Where all of it is in view, who goes sideways has not gone to its end.
      if (element.scrollTop === top) return;
      top = element.scrollTop;
      isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR_PX;
    };
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => element.removeEventListener('scroll', onScroll);
  }, [scroller]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves with the number of rows.
  useLayoutEffect(() => {
    before.current = count;
    const element = scroller.current;
    if (!isPinned || element === null) return;
    isAtEnd.current = true;
    element.scrollTop = element.scrollHeight;
  }, [scroller, count]);
  return isPinned;
}
