import type { Store } from '../store.ts';
import type { ListEntry, TableRow } from './upkeep.ts';

const PAGE = 500;

/** Where a copy notes that it is under way: no row of the store's own. */
export const COPY_TABLE = 'store.copy';

/** All rows of all tables, by table and key. */
export async function* allRows(
  { upkeep }: Pick<Store, 'upkeep'>,
  signal?: AbortSignal,
): AsyncGenerator<TableRow, void> {
  for (let last: TableRow | undefined; ; ) {
    signal?.throwIfAborted();
    const page: readonly TableRow[] = await upkeep.rows({
      limit: PAGE,
      ...(last === undefined ? {} : { after: last }),
    });
    for (const row of page) if (row.table !== COPY_TABLE) yield row;
    last = page.at(-1);
    if (last === undefined) return;
  }
}

/** The names of all lists. */
export async function* allLists(
  { upkeep }: Pick<Store, 'upkeep'>,
  signal?: AbortSignal,
): AsyncGenerator<string, void> {
  for (let last: string | undefined; ; ) {
    signal?.throwIfAborted();
    const page: readonly string[] = await upkeep.lists({
      limit: PAGE,
      ...(last === undefined ? {} : { after: last }),
    });
    yield* page;
    last = page.at(-1);
    if (last === undefined) return;
  }
}

/** The entries of a list behind `after`, page by page. */
export async function* entryPages(
  { tables }: Pick<Store, 'tables'>,
  list: string,
  after = 0,
  signal?: AbortSignal,
): AsyncGenerator<readonly ListEntry[], void> {
  for (let last = after; ; ) {
    signal?.throwIfAborted();
    const page = await tables.entries(list, { after: last, limit: PAGE });
    if (page.length > 0) yield page;
    const end = page.at(-1);
    if (end === undefined) return;
    last = end.n;
  }
}
