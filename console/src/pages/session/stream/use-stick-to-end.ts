import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';

const NEAR_PX = 48;

/** Keeps a scrolled list at its end while it grows, unless somebody has scrolled up. */
export function useStickToEnd(scroller: RefObject<HTMLElement | null>, height: number) {
  const isStuck = useRef(true);
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = () => {
      isStuck.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
      setAway(!isStuck.current);
    };
    // Only what a person does counts: rows that turn out taller than was guessed move the end, too.
    element.addEventListener('wheel', look, { passive: true });
    element.addEventListener('touchmove', look, { passive: true });
    element.addEventListener('keyup', look);
    element.addEventListener('pointerup', look);
    return () => {
      for (const type of ['wheel', 'touchmove', 'keyup', 'pointerup'])
        element.removeEventListener(type, look);
    };
  }, [scroller]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height is what changes the end.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && isStuck.current) element.scrollTop = element.scrollHeight;
  }, [scroller, height]);
  return {
    isAway,
    /** Something above is to be looked at. */
    leave() {
      isStuck.current = false;
      setAway(true);
    },
    toEnd() {
      isStuck.current = true;
      setAway(false);
      scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
    },
  };
}
