import type { Clock } from '../../kernel/clock.ts';
import type { Store } from '../store.ts';
import type { EntryLine } from './export-format.ts';
import { sameValue } from './same-value.ts';
import type { ListEntry, TableRow } from './upkeep.ts';
import { importConflict, importMalformed } from './upkeep-errors.ts';

/** Rows and entries on their way in, many to a commit. */
export interface TableImport {
  row(line: number, row: TableRow): Promise<void>;
  entry(line: number, entry: EntryLine): Promise<void>;
  /** Writes what has gathered. */
  flush(): Promise<void>;
  /** Those that were not there before. */
  readonly written: { readonly rows: number; readonly entries: number };
}

const AT_ONCE = 500;

export function createTableImport(store: Store, clock: Pick<Clock, 'now'>, dryRun: boolean): TableImport {
  const written = { rows: 0, entries: 0 };
  let rows: { readonly line: number; readonly row: TableRow }[] = [];
  let entries: { readonly line: number; readonly entry: EntryLine }[] = [];
  /** A row that comes twice would be refused half-way. */
  const seen = new Map<string, number>();
  /** The last entry of each list so far. */
  const last = new Map<string, number>();

  const putRow = async (line: number, { table, key, value, expiresAt }: TableRow) => {
    const ttlMs = expiresAt === undefined ? undefined : expiresAt - clock.now();
    if (ttlMs !== undefined && ttlMs <= 0) return; // over
    const write = { table, key, value, ...(ttlMs === undefined ? {} : { ttlMs }) };
    const isNew = dryRun
      ? (await store.tables.get(table, key)) === undefined
      : await store.tables.exchange([{ table, key, value: undefined }], [write]);
    if (isNew) written.rows++;
    else if (!sameValue(await store.tables.get(table, key), value))
      throw importConflict(line, `"${key}" in table "${table}"`);
  };

  const putEntries = async (batch: readonly { readonly line: number; readonly entry: EntryLine }[]) => {
    const [first] = batch;
    if (first === undefined) return;
    const { list, n } = first.entry;
    const there = await store.tables.entries(list, { after: n - 1, limit: batch.length });
    for (const [at, { line, entry }] of batch.entries()) {
      const found = there[at];
      if (found !== undefined && !isSame(found, entry))
        throw importConflict(line, `Entry ${entry.n} of list "${list}"`);
    }
    const missing = batch.slice(there.length).map(({ entry }) => entry);
    if (missing.length === 0) return;
    if (!dryRun) await store.upkeep.enter(list, n + there.length, missing);
    written.entries += missing.length;
  };

  const flush = async () => {
    const [all, batch] = [rows, entries];
    rows = [];
    entries = [];
    await Promise.all(all.map(({ line, row }) => putRow(line, row)));
    await putEntries(batch);
  };

  return {
    written,
    flush,
    async row(line, row) {
      const name = JSON.stringify([row.table, row.key]);
      const first = seen.get(name);
      if (first !== undefined) throw importMalformed(line, `The same row is in line ${first} already.`);
      seen.set(name, line);
      rows.push({ line, row });
      if (rows.length >= AT_ONCE) await flush();
    },
    async entry(line, entry) {
      const { list, n } = entry;
      const due = (last.get(list) ?? 0) + 1;
      if (n !== due) throw importMalformed(line, `Entry ${n} of list "${list}" stands where ${due} is due.`);
      last.set(list, n);
      if (entries.length >= AT_ONCE || (entries[0] !== undefined && entries[0].entry.list !== list))
        await flush();
      entries.push({ line, entry });
    },
  };
}

const isSame = (a: ListEntry, b: EntryLine): boolean =>
  a.n === b.n && a.at === b.at && sameValue(a.value, b.value);
