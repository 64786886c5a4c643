import { useEffect, useSyncExternalStore } from 'react';

/** What stands behind `#`: the path of a page, and a query of its own (`#/sessions/ID?at=42`). */
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

/** For wouter's `Router`: as its own hash location, but a query behind `#` is no part of the path that routes match. */
export const useHashPath = Object.assign(
  (): [string, typeof navigate] => [useSyncExternalStore(subscribe, hashPath), navigate],
  { hrefs: (href: string) => `#${href}` },
);

/** The query behind `#`. */
export const useHashQuery = (): string => useSyncExternalStore(subscribe, hashQuery);

/** Tells of the query behind `#` each time that somebody follows a link, be it the same again; not by `replaceHashQuery`. */
export const useFollowedQuery = (told: (query: string) => void): void =>
  useEffect(() => subscribe(() => told(hashQuery())), [told]);

/** Puts a query behind the path for whoever copies the address; the page itself is not told. */
export function replaceHashQuery(query: string): void {
  const url = new URL(location.href);
  const hash = `${hashPath()}${query === '' ? '' : `?${query}`}`;
  if (url.hash === `#${hash}`) return;
  url.hash = hash;
  history.replaceState(history.state, '', url);
}
