import type { Store } from '../store.ts';
import { entryPages } from './pages.ts';
import type { ListEntry } from './upkeep.ts';
import { sameValue } from './verify-stream.ts';

/** How many entries a list of the copy has, all of them the source's; undefined where one is not. */
export async function sharedEntries(
  from: Store,
  to: Store,
  list: string,
  signal?: AbortSignal,
): Promise<number | undefined> {
  let shared = 0;
  const own = entries(from, list, signal);
  for await (const page of entryPages(to, list, 0, signal))
    for (const entry of page) {
      const next = await own.next();
      if (next.done === true || !isSame(next.value, entry)) return undefined;
      shared++;
    }
  return shared;
}

/** Brings a list up to what the source has; gives how many entries were missing. */
export async function copyList(from: Store, to: Store, list: string, signal?: AbortSignal): Promise<number> {
  const [last] = await to.tables.entries(list, { last: 1 });
  let copied = 0;
  for await (const page of entryPages(from, list, last?.n ?? 0, signal)) {
    await to.upkeep.enter(list, page[0]?.n ?? 1, page);
    copied += page.length;
  }
  return copied;
}

async function* entries(store: Store, list: string, signal?: AbortSignal): AsyncGenerator<ListEntry, void> {
  for await (const page of entryPages(store, list, 0, signal)) yield* page;
}

const isSame = (a: ListEntry, b: ListEntry): boolean =>
  a.n === b.n && a.at === b.at && sameValue(a.value, b.value);
