import { badHostName, badOrigin } from './http-errors.ts';

const HOST_NAME = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/;

/** An origin as browsers send it, of what a person wrote. Throws `usage` where no browser would ever send it. */
export function readOrigin(given: string): string {
  const url = URL.parse(given);
  const isOrigin =
    url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search + url.hash === '';
  if (!isOrigin || url.username !== '') throw badOrigin(given);
  return url.origin;
}

/** The name of a host as it is held against the one in `Host`. Throws `usage` where that is never such. */
export function readHostName(given: string): string {
  const name = given.toLowerCase();
  if (!HOST_NAME.test(name)) throw badHostName(given);
  return name;
}
