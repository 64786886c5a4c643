import { DatabaseSync } from 'node:sqlite';
import { graphNewer, noWordIndex } from '../../../graph-errors.ts';
import type { GraphSettings } from '../graph-messages.ts';
import { GRAPH_MIGRATIONS } from './graph-schema.ts';

/** The words' and rows' inner pages stay at hand: with SQLite's 2 MB writing 5,000 files takes half as long again. */
const CACHE_KIB = 32 * 1024;

/**
 * Opens the tables in the store's file, which is there, or in memory. They have a version of their own, so that a store
 * without a graph stays as it is, and one with a graph can be opened by every telltale that knows its log.
 */
export function openGraphDatabase(settings: GraphSettings): DatabaseSync {
  const { path, durability, lockTimeoutMs, maxPages } = settings;
  const db = new DatabaseSync(path ?? ':memory:');
  try {
    if (!hasWordIndex(db)) throw noWordIndex();
    db.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
    migrate(db, path ?? 'memory');
    db.exec('PRAGMA synchronous = NORMAL');
    // On macOS an ordinary fsync leaves the data in the disk's cache.
    db.exec(`PRAGMA fullfsync = ${durability === 'power' ? 'ON' : 'OFF'}`);
    // Checkpoints are made between two requests (`checkpoints.ts`).
    db.exec('PRAGMA wal_autocheckpoint = 0');
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    db.exec('PRAGMA temp_store = MEMORY');
    if (maxPages !== null) db.exec(`PRAGMA max_page_count = ${maxPages}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

const hasWordIndex = (db: DatabaseSync): boolean =>
  db.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").get() !== undefined;

/** Two processes may do this at once: the second waits for the first's transaction and then finds nothing to do. */
function migrate(db: DatabaseSync, location: string): void {
  if (versionOf(db, location) === GRAPH_MIGRATIONS.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    const from = versionOf(db, location);
    if (from === 0) db.exec('CREATE TABLE graph_version (version INTEGER NOT NULL)');
    if (from === 0) db.exec('INSERT INTO graph_version VALUES (0)');
    for (const migration of GRAPH_MIGRATIONS.slice(from)) db.exec(migration);
    db.exec(`UPDATE graph_version SET version = ${GRAPH_MIGRATIONS.length}`);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(db: DatabaseSync, location: string): number {
  const has = db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'graph_version'").get();
  if (has === undefined) return 0;
  const version = Number(db.prepare('SELECT version FROM graph_version').get()?.version);
  if (version > GRAPH_MIGRATIONS.length) throw graphNewer(location, version, GRAPH_MIGRATIONS.length);
  return version;
}
