import type { Clock } from '../../lib/clock.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { Store } from '../store.ts';
import { importConflict, importMalformed, importNewer, importReserved } from './append-committed.ts';
import { type DoneLine, type EntryLine, FORMAT, HEADER } from './export-store.ts';
import { beginStreamImport, type StreamImport, type StreamOutcome } from './import-stream.ts';
import type { StreamFront } from './pages.ts';
import type { NumberedLine } from './read-record.ts';
import { type ExportRecord, readRecord } from './read-record.ts';
import type { ListEntry, TableRow } from './upkeep.ts';
import { sameValue } from './verify-stream.ts';

export interface ImportStoreImportOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Everything is looked at, and nothing written. */
  readonly dryRun?: boolean;
  /**
   * Somebody else may have written the file: rows and entries that grant rights or run are refused with
   * `import_reserved`, and sessions and runs that have not ended are quarantined, so that nothing picks them up.
   */
  readonly isForeign?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  readonly streams: number;
  readonly events: number;
  readonly rows: number;
}

export interface ImportReport {
  readonly streams: number;
  /** Streams that were there already, the same. */
  readonly same: number;
  readonly events: number;
  readonly rows: number;
  readonly entries: number;
  /** Streams that were quarantined, since they have not ended and the file is not trusted; absent where none was. */
  readonly quarantined?: number;
}

/** Refused rows that an error names. */
const MAX_NAMED = 10;

/** Streams whose last commit is waited for while others are read. */
const MAX_ENDING = 32;

/**
 * Puts the lines of an export into a store. A stream is there as a whole or not at all; what is there already and the same
 * is left alone. Throws `import_malformed`, `import_newer`, `import_conflict` or `import_reserved`, with the line; what came
 * before it stays, so whoever wants all or nothing makes a dry run first.
 */
export async function importStore(
  store: Store,
  lines: AsyncIterable<NumberedLine>,
  options: ImportStoreImportOptions,
): Promise<ImportReport> {
  const { clock, dryRun = false, isForeign = false, signal, onProgress = () => undefined } = options;
  const tables = createTableImport(store, clock, dryRun);
  const counts = { streams: 0, same: 0, events: 0, rows: 0, entries: 0 };
  let quarantined = 0;
  const begun = new Map<string, number>();
  const refused: string[] = [];
  let refusedCount = 0;
  const ending = new Set<Promise<void>>();
  let current: StreamImport | undefined;
  let done: DoneLine | undefined;
  let number = 0;
  let failure: unknown;

  const finish = (rest: () => Promise<StreamOutcome>) => {
    const ends = rest().then(
      (how) => {
        if (how === 'same') counts.same++;
        else counts.streams++;
        if (how === 'quarantined') quarantined++;
        ending.delete(ends);
      },
      (thrown: unknown) => {
        failure ??= thrown;
        ending.delete(ends);
      },
    );
    ending.add(ends);
  };

  const inside = (kind: string): StreamImport => {
    if (current === undefined) throw importMalformed(number, `"${kind}" stands outside of any stream.`);
    return current;
  };
  const outside = (kind: string) => {
    if (current !== undefined)
      throw importMalformed(number, `"${kind}" stands where stream "${current.stream}" has not ended.`);
  };

  /** A dry run goes on to name the others; nothing else is written behind the first. */
  const isRefused = (kind: 'table' | 'list', name: string, what: string): boolean => {
    if (!isForeign || !isReservedName(name)) return false;
    refusedCount++;
    if (refused.length < MAX_NAMED) refused.push(`line ${number}: ${what} of the ${kind} ${shownName(name)}`);
    if (!dryRun) throw importReserved(refused, refusedCount);
    return true;
  };

  const take = async (record: ExportRecord): Promise<void> => {
    switch (record.kind) {
      case 'stream': {
        outside('stream');
        const { stream } = record.front;
        const first = begun.get(stream);
        if (first !== undefined)
          throw importMalformed(number, `Stream "${stream}" is in line ${first} already.`);
        begun.set(stream, number);
        const { parent } = record.front;
        if (isForeign && parent !== undefined && !begun.has(parent))
          await refuseAdoption(store, record.front, number);
        current = await beginStreamImport(store, record.front, number, { dryRun, isForeign, clock });
        return;
      }
      case 'event':
        await inside('event').event(number, record.line);
        counts.events++;
        return;
      case 'snapshot':
        return inside('snapshot').snapshot(number, record.snapshot);
      case 'message':
        inside('message').message(record.message);
        return;
      case 'end': {
        const rest = await inside('end').end(number, record.end);
        current = undefined;
        finish(rest);
        if (ending.size >= MAX_ENDING) await Promise.race(ending);
        return;
      }
      case 'row':
        outside('row');
        counts.rows++;
        if (isRefused('table', record.row.table, `row ${shownName(record.row.key)}`)) return;
        return tables.row(number, record.row);
      case 'entry':
        outside('entry');
        counts.entries++;
        if (isRefused('list', record.entry.list, `entry ${record.entry.n}`)) return;
        return tables.entry(number, record.entry);
      case 'done':
        outside('done');
        checkCounts(number, record.done, { ...counts, streams: begun.size });
        done = record.done;
    }
  };

  try {
    for await (const line of lines) {
      signal?.throwIfAborted();
      number = line.number;
      if (number === 1) readHeader(line);
      else if (line.text.trim() !== '') {
        if (done !== undefined) throw importMalformed(number, 'Something follows the line "done".');
        await take(readRecord(line));
        onProgress(counts);
      }
      if (failure !== undefined) throw failure;
    }
    if (number === 0) throw importMalformed(1, 'There is nothing: an export has a header at least.');
    if (done === undefined) throw brokenOff(number + 1);
    if (refusedCount > 0) throw importReserved(refused, refusedCount);
    await tables.flush();
    await Promise.all(ending);
    if (failure !== undefined) throw failure;
  } catch (thrown) {
    await Promise.all(ending);
    // What stopped it is what there is to tell; what could not be taken out is named by `store check`.
    await current?.abandon().catch(() => undefined);
    throw thrown;
  }
  const { rows, entries } = tables.written;
  return { ...counts, rows, entries, ...(quarantined > 0 ? { quarantined } : {}) };
}

/** A file that is not trusted must not put a session below one of this store: that one would go on with it. */
async function refuseAdoption(store: Store, { stream, parent }: StreamFront, line: number): Promise<void> {
  if (parent === undefined || (await store.info(stream)) !== undefined) return;
  if ((await store.info(parent)) === undefined) return;
  throw importReserved(
    [`line ${line}: ${shownName(stream)}, as called by ${shownName(parent)} of this store`],
    1,
  );
}

const MAX_NAME = 80;
/** A name from the file as it may stand in a message: quoted, clipped, with what is unprintable escaped. */
const shownName = (name: string): string =>
  JSON.stringify(name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);

function readHeader({ number, text }: NumberedLine): void {
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch {
    header = undefined;
  }
  if (!isJsonObject(header) || header.telltale !== HEADER)
    throw importMalformed(
      number,
      'It is not the first line of an export of a store.',
      'Name a file that "telltale store export" has written.',
    );
  if (header.format !== FORMAT) throw importNewer(header.format, FORMAT);
}

function checkCounts(number: number, done: DoneLine, found: Required<DoneLine>): void {
  for (const key of ['streams', 'rows', 'entries'] as const)
    if (done[key] !== undefined && done[key] !== found[key])
      throw importMalformed(number, `There are to be ${done[key]} ${key}, and ${found[key]} came.`);
}

const brokenOff = (number: number) =>
  importMalformed(
    number,
    'The file ends here, without the line "done": the export was broken off.',
    'Export again. Where the rest was taken out on purpose, end it with the line {"done":{}}.',
  );

/**
 * Tables and lists that grant rights, start work or decide what a process does: tokens, MCP keys, artifacts, schedules,
 * hooks, open reviews, idempotency keys, notifications, the audit trail, variables and metadata of agents, cached feeds,
 * quarantine. Only the data of relics may come from a file that is not trusted. docs/store.md lists them.
 */
const DATA = /^relic(?:-queue)?:/;
/** Every name that the runtime gives a table has one of these, apart from the single words. */
const SYSTEM = /[.:_-]/;
const SINGLE_WORDS: ReadonlySet<string> = new Set(['reviews', 'hooks', 'schedules', 'memory', 'doctor']);

/** Whether a table or list of this name may only be imported from a trusted file. */
const isReservedName = (name: string): boolean =>
  !DATA.test(name) && (SYSTEM.test(name) || SINGLE_WORDS.has(name));

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

function createTableImport(store: Store, clock: Pick<Clock, 'now'>, dryRun: boolean): TableImport {
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
