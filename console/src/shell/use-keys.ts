import { useLayoutEffect, useRef } from 'react';

/** Sliders and checkboxes take no letters, so shortcuts work while they have the focus. */
const TYPED_IN = 'input:not([type="range"], [type="checkbox"]), textarea, select, [contenteditable="true"]';

/** Whether a key is meant for the focused control, not for the page. */
const isForControl = (event: KeyboardEvent): boolean =>
  event.defaultPrevented ||
  event.ctrlKey ||
  event.metaKey ||
  event.altKey ||
  (event.target instanceof Element && event.target.closest(TYPED_IN) !== null) ||
  document.querySelector('dialog[open]') !== null;

/**
 * Calls `onKey` with each key that is not typed into a control. Returning true means that the key was handled. With
 * `first`, it is called before the page's own listeners, which do not see handled keys.
 */
export function useKeys(onKey: (key: string) => boolean, { first = false } = {}): void {
  const latest = useRef(onKey);
  latest.current = onKey;
  // Registers together with the page, because the user may press a key as soon as they see it.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (!isForControl(event) && latest.current(event.key)) event.preventDefault();
    };
    window.addEventListener('keydown', listener, first);
    return () => window.removeEventListener('keydown', listener, first);
  }, [first]);
}
