import { NAV_ITEMS } from './nav-items.ts';

export type ShortcutAction =
  | { readonly kind: 'go'; readonly path: string }
  | { readonly kind: 'search' }
  | { readonly kind: 'help' };

/** How long `g` waits for the next key. */
export const SEQUENCE_MS = 1_500;

/** The meaning of a key, given the one before it: `g` starts a sequence. Undefined if it has none. */
export function readKey(key: string, before: string | undefined): ShortcutAction | 'begins' | undefined {
  if (before === 'g') {
    const item = NAV_ITEMS.find((one) => one.key === key);
    return item === undefined ? undefined : { kind: 'go', path: item.path };
  }
  if (key === 'g') return 'begins';
  if (key === 'n') return { kind: 'go', path: '/start' };
  if (key === '/') return { kind: 'search' };
  if (key === '?') return { kind: 'help' };
  return undefined;
}

export interface ListedShortcut {
  readonly keys: readonly string[];
  readonly does: string;
}

export const LISTED_SHORTCUTS: readonly {
  readonly where: string;
  readonly keys: readonly ListedShortcut[];
}[] = [
  {
    where: 'Everywhere',
    keys: [
      ...NAV_ITEMS.map(({ key, label }) => ({ keys: ['g', key], does: `Go to ${label.toLowerCase()}` })),
      { keys: ['n'], does: 'Start a session' },
      { keys: ['/'], does: 'Search this page' },
      { keys: ['?'], does: 'Show these shortcuts' },
    ],
  },
  {
    where: 'Sessions',
    keys: [
      { keys: ['j', 'k'], does: 'Next, previous session' },
      { keys: ['Enter'], does: 'Open it' },
    ],
  },
  {
    where: 'A session',
    keys: [
      { keys: [',', '.'], does: 'Previous, next event' },
      { keys: ['p'], does: 'Play the session, pause' },
      { keys: ['Escape'], does: 'Back to now' },
    ],
  },
  {
    where: 'Reviews',
    keys: [
      { keys: ['j', 'k'], does: 'Next, previous review' },
      { keys: ['a'], does: 'Approve' },
      { keys: ['r'], does: 'Reject' },
      { keys: ['e'], does: 'Write a note' },
    ],
  },
];
