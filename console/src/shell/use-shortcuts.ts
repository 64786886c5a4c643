import { useRef } from 'react';
import { useLocation } from 'wouter';
import { readKey, SEQUENCE_MS } from './shortcuts.ts';
import { useKeys } from './use-keys.ts';

/** The keys that work on every page. */
export function useShortcuts(showHelp: () => void): void {
  const [, navigate] = useLocation();
  const before = useRef<{ key: string; at: number } | undefined>(undefined);
  useKeys((key) => {
    const open = before.current;
    const first = open !== undefined && performance.now() - open.at < SEQUENCE_MS ? open.key : undefined;
    before.current = undefined;
    const meaning = readKey(key, first);
    if (meaning === undefined) return false;
    if (meaning === 'begins') before.current = { key, at: performance.now() };
    else if (meaning.kind === 'go') navigate(meaning.path);
    else if (meaning.kind === 'help') showHelp();
    else document.querySelector<HTMLElement>('[data-search]')?.focus();
    return true;
  });
}
