import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { storeDamaged, storeForeign, storeNewer } from '../sqlite-errors.ts';
import { type FileIdentity, identityOf } from './examine-file.ts';
import { APPLICATION_ID, MIGRATIONS } from './migrations.ts';

const HEADER_BYTES = 100;
const SECOND_LOOK_MS = 100;
const MAGIC = 'SQLite format 3\0';

const MARKS = `SELECT application_id AS mark, user_version AS version, page_count * page_size AS bytes
  FROM pragma_application_id, pragma_user_version, pragma_page_count, pragma_page_size`;

/**
 * Throws if the file is not ours to open; a missing or empty one is. Ours has its mark from its first commit on, which is
 * made before the journal is a WAL.
 */
export function inspectFile(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (stats.isDirectory()) throw storeForeign(path, 'a folder');
  if (!stats.isFile()) throw storeForeign(path, 'no ordinary file');
  if (stats.size === 0 || isMarked(path)) return;
  inspectHeader(path);
}

/**
 * Whether it is a whole file of ours. SQLite reads it as one that nobody changes: then it touches no journal, which may
 * be a foreign one's, and takes no lock. It knows of every thread that has locks on the file, and closes its descriptor
 * when those are given up: to close one of our own would give them up (`readIfOpen`). Node before 22.15 opens no such
 * address: there the header tells, with that risk.
 */
function isMarked(path: string): boolean {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(`${pathToFileURL(path).href}?immutable=1`, { readOnly: true });
    const { mark, version, bytes } = db.prepare(MARKS).get() ?? {};
    const isOurs = mark === APPLICATION_ID && Number(version) <= MIGRATIONS.length;
    return isOurs && Number(bytes) <= statSync(path).size;
  } catch {
    return false; // its header tells why
  } finally {
    db?.close();
  }
}

/** What is not read as ours is looked at without SQLite. */
function inspectHeader(path: string): void {
  const { header, size } = readHeader(path);
  if (size === 0) return;
  if (size < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC)
    throw storeDamaged(path, 'it is no SQLite database');
  if (header.readUInt32BE(68) !== APPLICATION_ID)
    throw storeForeign(path, 'a SQLite database of another program');
  const version = header.readUInt32BE(60);
  if (version > MIGRATIONS.length) throw storeNewer(path, version, MIGRATIONS.length);
  // Another process may be about to write the rest.
  const found = howCutShort(path);
  if (found === undefined) return;
  pause(SECOND_LOOK_MS);
  if (howCutShort(path) === found) throw storeDamaged(path, found);
}

/** This thread has nothing else to do. */
export function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A journal may hold the pages that are missing; without one, nothing does. */
function howCutShort(path: string): string | undefined {
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if ((wal !== undefined && wal.size > 0) || existsSync(`${path}-journal`)) return undefined;
  const { header, size } = readHeader(path);
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const pages = header.readUInt32BE(28);
  const isCurrent = header.readUInt32BE(24) === header.readUInt32BE(92);
  if (!isCurrent || size >= pages * pageSize) return undefined;
  return `it was cut short, ${size} of ${pages * pageSize} bytes are there`;
}

interface Header {
  readonly header: Buffer;
  readonly size: number;
}

function readHeader(path: string): Header {
  const known = readIfOpen(path, headerOf);
  if (known !== undefined) return known;
  const file = openSync(path, 'r');
  try {
    return headerOf(file);
  } finally {
    closeSync(file);
  }
}

function headerOf(file: number): Header {
  // Before the header: of a file that another process has just made there is none as long as it is empty.
  const { size } = fstatSync(file);
  const header = Buffer.alloc(HEADER_BYTES);
  readSync(file, header, 0, HEADER_BYTES, 0);
  return { header, size };
}

/**
 * What `read` finds through a descriptor that this process has of the file, in whatever thread; undefined where it has none.
 * Whoever opens the file once more and closes that gives up all locks of the process on it, SQLite's among them: another
 * process then takes the store for its own, and puts away the WAL that is being written here.
 */
function readIfOpen<Found>(path: string, read: (descriptor: number) => Found): Found | undefined {
  const file = identityOf(path);
  for (const descriptor of descriptors()) {
    try {
      if (!leadsTo(descriptor, file)) continue;
      const found = read(descriptor);
      if (leadsTo(descriptor, file)) return found;
    } catch {
      // It was closed meanwhile, or is only for writing.
    }
  }
  return undefined;
}

/** None where the system has no list of them: on Windows, where locks are not lost like that. */
function descriptors(): readonly number[] {
  try {
    return readdirSync('/dev/fd').map(Number);
  } catch {
    return [];
  }
}

function leadsTo(descriptor: number, { ino, dev }: FileIdentity): boolean {
  const found = fstatSync(descriptor);
  return found.ino === ino && found.dev === dev;
}
