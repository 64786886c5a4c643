import { type KeyboardEvent, useState } from 'react';
import type { RowWindow } from './use-row-window.ts';
import type { Zoom } from './use-zoom.ts';

export interface RowKeysOptions {
  readonly count: number;
  readonly view: RowWindow;
  readonly zoom: Zoom;
  readonly onOpen: (index: number) => void;
}

const PAGE = 10;
const STEP = 1.5;
const PAN = 0.2;

/** Keyboard control of the waterfall: up and down for rows, left and right for time, plus and minus to zoom. */
export function useRowKeys({ count, view, zoom, onOpen }: RowKeysOptions) {
  const [chosen, setActive] = useState<number>();
  const [isFocused, setFocused] = useState(false);
  /** Whether the keyboard is used. Then the focused row shows its tooltip. */
  const [isByKey, setByKey] = useState(false);
  const active = chosen === undefined ? undefined : Math.min(chosen, count - 1);
  const go = (to: number) => {
    const next = Math.max(0, Math.min(count - 1, to));
    setActive(next);
    view.scrollTo(next);
  };
  const from = active ?? view.shown[0]?.index ?? 0;
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => go(active === undefined ? from : from + 1),
    ArrowUp: () => go(from - 1),
    PageDown: () => go(from + PAGE),
    PageUp: () => go(from - PAGE),
    Home: () => go(0),
    End: () => go(count - 1),
    ArrowLeft: () => zoom.pan(-PAN),
    ArrowRight: () => zoom.pan(PAN),
    Enter: () => onOpen(from),
    ' ': () => onOpen(from),
    '+': () => zoom.by(STEP),
    '=': () => zoom.by(STEP),
    '-': () => zoom.by(1 / STEP),
    '0': () => zoom.fit(),
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const press = keys[event.key];
    if (press === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setByKey(true);
    press();
  };
  return {
    active,
    isFocused,
    setActive,
    isTold: isFocused && isByKey,
    props: {
      onKeyDown,
      onFocus: () => {
        setFocused(true);
        setByKey(true);
        if (active === undefined) setActive(from);
      },
      onBlur: () => setFocused(false),
      onPointerDown: () => setByKey(false),
    },
  };
}
