import { readPage } from './read-answer.ts';

/** Asks a server; the result is whatever it answered. */
export type Request = (
  method: string,
  params: Record<string, unknown>,
  options: { readonly signal: AbortSignal; readonly onprogress?: (data: object) => void },
) => Promise<Readonly<Record<string, unknown>>>;

export interface Listing<T> {
  readonly method: string;
  /** Under which a page has its items. */
  readonly key: string;
  /** For messages: `tools`. */
  readonly what: string;
  readonly max: number;
  /** Whether what is above `max` is left out rather than refused. */
  readonly cut?: boolean;
  readonly read: (item: unknown) => T | undefined;
}

const MAX_PAGES = 100;

/** All pages of a list. `bad` makes the error of one that cannot be used. */
export async function listAll<T>(
  request: Request,
  { method, key, what, max, cut = false, read }: Listing<T>,
  signal: AbortSignal,
  bad: (why: string) => Error,
): Promise<readonly T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = readPage(
      await request(method, cursor === undefined ? {} : { cursor }, { signal }),
      key,
      read,
    );
    if (page === undefined) throw bad(`what it listed are no ${what}`);
    all.push(...page.items);
    if (all.length > max && !cut) throw bad(`it lists more than ${max} ${what}`);
    if (page.next === undefined || all.length >= max) return all.slice(0, max);
    cursor = page.next;
  }
  if (cut) return all;
  throw bad(`its list of ${what} has more than ${MAX_PAGES} pages`);
}
