import { useRef } from 'react';
import { useLocation } from 'wouter';
import { readKey, SEQUENCE_MS } from './shortcuts.ts';
import { useKeys } from './use-keys.ts';

/** The keys that work on every page. */
export function useShortcuts(showHelp: () => void): void {
  const [, navigate] = useLocation();
  const before = useRef<{ key: string; at: number } | undefined>(undefined);
  const onKey = (key: string) => {
    const open = before.current;
    const first = open !== undefined && performance.now() - open.at < SEQUENCE_MS ? open.key : undefined;
    before.current = undefined;
    const meaning = readKey(key, first);
    // The second key of a sequence is nobody else's, whatever it means: `g r` rejects no review.
    if (meaning === undefined) return first !== undefined;
    if (meaning === 'begins') before.current = { key, at: performance.now() };
    else if (meaning.kind === 'go') navigate(meaning.path);
    else if (meaning.kind === 'help') showHelp();
    else document.querySelector<HTMLElement>('[data-search]')?.focus();
    return true;
  };
  useKeys(onKey, { first: true });
}
