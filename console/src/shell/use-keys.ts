import { useLayoutEffect, useRef } from 'react';

/** A slider and a box to tick take no letters: the page's keys work beside their own. */
const TYPED_IN = 'input:not([type="range"], [type="checkbox"]), textarea, select, [contenteditable="true"]';

/** Whether a key is meant for what it was pressed in, and not for the page. */
const isForControl = (event: KeyboardEvent): boolean =>
  event.defaultPrevented ||
  event.ctrlKey ||
  event.metaKey ||
  event.altKey ||
  (event.target instanceof Element && event.target.closest(TYPED_IN) !== null) ||
  document.querySelector('dialog[open]') !== null;

/**
 * Single keys of a page: called with each that is not typed into something. True says that it was understood.
 * `first`: before the page's own hear of it, and what is understood they do not hear at all.
 */
export function useKeys(onKey: (key: string) => boolean, { first = false } = {}): void {
  const latest = useRef(onKey);
  latest.current = onKey;
  // With the page itself, not a moment after it: who sees it may press a key.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (!isForControl(event) && latest.current(event.key)) event.preventDefault();
    };
    window.addEventListener('keydown', listener, first);
    return () => window.removeEventListener('keydown', listener, first);
  }, [first]);
}
