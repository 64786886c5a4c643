import type { Clock } from '../../kernel/clock.ts';
import { isJsonObject } from '../../kernel/json.ts';
import type { Store } from '../store.ts';
import { type DoneLine, FORMAT, HEADER } from './export-format.ts';
import type { StreamFront } from './hash-stream.ts';
import { beginStreamImport, type StreamImport, type StreamOutcome } from './import-stream.ts';
import { createTableImport } from './import-tables.ts';
import type { NumberedLine } from './read-lines.ts';
import { type ExportRecord, readRecord } from './read-record.ts';
import { isReservedName } from './reserved-names.ts';
import { importMalformed, importNewer, importReserved } from './upkeep-errors.ts';

export interface ImportOptions {
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
  options: ImportOptions,
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
