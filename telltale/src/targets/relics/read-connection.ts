import type { JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { RelicContext } from './relic-driver.ts';

export interface Connection {
  readonly url: string;
  /** What stands beside `url`. */
  readonly options: JsonObject;
}

/** An address alone, or `{ url, … }` with the options that the driver has. */
export function readConnection(
  { connection, what, file }: RelicContext,
  known: readonly string[],
): Connection {
  if (typeof connection === 'string') return { url: connection, options: {} };
  const { url, ...options } = connection ?? {};
  if (typeof url !== 'string' || url === '')
    throw badConnection(
      what,
      file,
      'names no address',
      'Write it as "connection: ADDRESS", or as its "url".',
    );
  const odd = Object.keys(options).find((name) => !known.includes(name));
  if (odd === undefined) return { url, options };
  throw badConnection(what, file, `has no option "${odd}"`, suggest(odd, ['url', ...known], 'Options'));
}

/** A whole number above zero, `fallback` if it is absent. */
export function wholeOption(
  { what, file }: RelicContext,
  { options }: Connection,
  name: string,
  fallback: number,
): number {
  const value = options[name] ?? fallback;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw badConnection(
    what,
    file,
    `has ${showValue(value)} as its "${name}"`,
    'Give a whole number above zero.',
  );
}

/** An address as it may be shown: without user, password, and what stands behind a question mark. */
export function shownAddress(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
  } catch {
    return `${/^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? ''}//…`;
  }
}

export const badConnection = (what: string, file: string, why: string, hint: string) =>
  new RuntimeError('bad_connection', `The connection of ${what} (${file}) ${why}.`, { hint });

const MIN_SECRET = 3;

/** Takes the user and the password of an address out of a message, as they are written and as they are meant. */
export function redactor(url: string): (text: string) => string {
  const { username, password } = new URL(url);
  const secrets = [password, decoded(password), username, decoded(username)]
    .filter((secret) => secret.length >= MIN_SECRET)
    .toSorted((a, b) => b.length - a.length);
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
