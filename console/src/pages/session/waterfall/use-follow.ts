import type { Virtualizer } from '@tanstack/react-virtual';
import { type RefObject, useEffect, useRef } from 'react';

/** So near to its end somebody counts as looking at it. */
const NEAR_PX = 60;

/** Keeps the end of a list in view as it grows or shrinks, until somebody scrolls away from it. */
export function useFollow(
  scroller: RefObject<HTMLElement | null>,
  virtual: Pick<Virtualizer<HTMLDivElement, Element>, 'scrollToIndex'>,
  count: number,
): void {
  const isAtEnd = useRef(false);
  const before = useRef(count);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const onScroll = () => {
      isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR_PX;
    };
    onScroll();
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => element.removeEventListener('scroll', onScroll);
  }, [scroller]);
  useEffect(() => {
    const shrank = count < before.current;
    before.current = count;
    if ((isAtEnd.current || shrank) && count > 0) {
      virtual.scrollToIndex(count - 1, { align: 'end' });
      isAtEnd.current = true;
    }
  }, [count, virtual]);
}
