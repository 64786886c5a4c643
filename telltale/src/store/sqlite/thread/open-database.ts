import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { storeNewer, storeUnwritable } from '../sqlite-errors.ts';
import type { ThreadSettings } from '../thread-settings.ts';
import { describeFailure, isBusy } from './describe-failure.ts';
import { inspectFile, pause } from './inspect-file.ts';
import { APPLICATION_ID, MIGRATIONS } from './migrations.ts';
import { type OpenedDatabase, openToRead } from './open-to-read.ts';
import { PAGE_BYTES } from './page-bytes.ts';
import { keepPrivate, makePrivateFile, makePrivateFolder } from './private-files.ts';

const RETRY_MS = 10;

type OpenSettings = Pick<
  ThreadSettings,
  'path' | 'durability' | 'lockTimeoutMs' | 'maxPages' | 'mayOnlyRead'
>;

/**
 * Opens or makes the file and brings its schema up to date; or opens one for reading that cannot be written, where that
 * will do. Throws before anything is changed in a file not ours.
 */
export function openDatabase(settings: OpenSettings): OpenedDatabase {
  const { path, lockTimeoutMs, mayOnlyRead } = settings;
  try {
    return { db: openToWrite(settings) };
  } catch (error) {
    const isUnwritable = describeFailure(path, lockTimeoutMs, error).code === 'store_unwritable';
    if (!mayOnlyRead || !isUnwritable || !existsSync(path)) throw error;
    return openToRead(path, error);
  }
}

function openToWrite({ path, durability, lockTimeoutMs, maxPages }: OpenSettings): DatabaseSync {
  makePrivateFolder(dirname(path));
  inspectFile(path);
  refuseReadOnly(path);
  makePrivateFile(path);
  keepPrivate(path);
  const db = new DatabaseSync(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
    migrate(db, path);
    useWal(db, lockTimeoutMs);
    db.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`);
    // On macOS an ordinary fsync leaves the data in the disk's cache.
    db.exec(`PRAGMA fullfsync = ${durability === 'power' ? 'ON' : 'OFF'}`);
    // Checkpoints are made when the thread is idle (`checkpoints.ts`), not by the commit that happens to be the 1000th.
    db.exec('PRAGMA wal_autocheckpoint = 0');
    if (maxPages !== null) db.exec(`PRAGMA max_page_count = ${maxPages}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** SQLite would open it for reading only and fail at the first write. */
function refuseReadOnly(path: string): void {
  const target = existsSync(path) ? path : dirname(path);
  try {
    accessSync(target, constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw storeUnwritable(path, 'this user may not write there', error);
  }
}

/** Two processes may do this at once: the second waits for the first's transaction and then finds nothing to do. */
function migrate(db: DatabaseSync, path: string): void {
  const found = versionOf(db, path);
  if (found === MIGRATIONS.length) return;
  if (found === 0) db.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
  db.exec('BEGIN IMMEDIATE');
  try {
    const from = versionOf(db, path);
    for (const migration of MIGRATIONS.slice(from)) db.exec(migration);
    if (from === 0) db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    if (from < MIGRATIONS.length) db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(db: DatabaseSync, path: string): number {
  const version = Number(db.prepare('PRAGMA user_version').get()?.user_version);
  if (version > MIGRATIONS.length) throw storeNewer(path, version, MIGRATIONS.length);
  return version;
}

/** Switching the journal's mode does not wait for others by itself. */
function useWal(db: DatabaseSync, lockTimeoutMs: number): void {
  const tries = Math.max(1, Math.ceil(lockTimeoutMs / RETRY_MS));
  for (let left = tries; ; left--) {
    try {
      db.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || left === 0) throw error;
      pause(RETRY_MS);
    }
  }
}
