import { useEffect, useSyncExternalStore } from 'react';

/** Splits the part after `#` into the path of a page and its own query (`#/sessions/ID?at=42`). */
const hashParts = (): readonly [path: string, query: string] => {
  const [path = '', query = ''] = location.hash.replace(/^#?\/?/, '').split('?', 2);
  return [`/${path}`, query];
};

const hashPath = (): string => hashParts()[0];
export const hashQuery = (): string => hashParts()[1];

const subscribe = (changed: () => void): (() => void) => {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
};

function navigate(to: string, { state = null, replace = false }: NavigateOptions = {}): void {
  const oldURL = location.href;
  const url = new URL(oldURL);
  url.hash = to.replace(/^#?\/?/, '/');
  history[replace ? 'replaceState' : 'pushState'](state, '', url);
  dispatchEvent(new HashChangeEvent('hashchange', { oldURL, newURL: url.href }));
}

interface NavigateOptions {
  readonly state?: unknown;
  readonly replace?: boolean;
}

/**
 * For wouter's `Router`. Like its own hash location, except that the query after `#` is not part of the path that
 * routes match.
 */
export const useHashPath = Object.assign(
  (): [string, typeof navigate] => [useSyncExternalStore(subscribe, hashPath), navigate],
  { hrefs: (href: string) => `#${href}` },
);

/** The query after `#`. */
export const useHashQuery = (): string => useSyncExternalStore(subscribe, hashQuery);

/**
 * Calls `told` with the query after `#` each time somebody follows a link, even to the same address. `replaceHashQuery`
 * does not trigger it.
 */
export const useFollowedQuery = (told: (query: string) => void): void =>
  useEffect(() => subscribe(() => told(hashQuery())), [told]);

/** Sets the query after the path, so that a copied address contains it. The page is not notified. */
export function replaceHashQuery(query: string): void {
  const url = new URL(location.href);
  const hash = `${hashPath()}${query === '' ? '' : `?${query}`}`;
  if (url.hash === `#${hash}`) return;
  url.hash = hash;
  history.replaceState(history.state, '', url);
}
