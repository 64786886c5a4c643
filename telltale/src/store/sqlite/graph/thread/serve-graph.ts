import { DatabaseSync } from 'node:sqlite';
import { RuntimeError } from '../../../../lib/errors.ts';
import { graphNewer, noWordIndex } from '../../../graph-limits.ts';
import { describeFailure } from '../../sqlite-errors.ts';
import { createCheckpoints } from '../../thread/checkpoints.ts';
import { pause } from '../../thread/inspect-file.ts';
import type {
  GraphArgs,
  GraphOp,
  GraphReply,
  GraphRequest,
  GraphResult,
  GraphSettings,
} from '../graph-store.ts';
import { createGraphRows, type OpenRows } from './graph-rows.ts';

/** Answers requests, one after the other. */
export interface GraphServer {
  answer(request: GraphRequest): GraphReply;
  close(): void;
}

/**
 * How a request is run. What can be read from the files again survives a killed process (`rebuilt`); what cannot, the
 * plug as well, as the store's log does (`kept`).
 */
const WAY: Readonly<Record<GraphOp, 'read' | 'rebuilt' | 'kept'>> = {
  files: 'read',
  write: 'rebuilt',
  imports: 'read',
  resolve: 'rebuilt',
  search: 'read',
  symbols: 'read',
  symbolsOf: 'read',
  callersOf: 'read',
  calleesOf: 'read',
  importsOf: 'read',
  importersOf: 'read',
  learn: 'kept',
  factsAbout: 'read',
  facts: 'read',
  noteSession: 'kept',
  sessionsOf: 'read',
  records: 'read',
  learned: 'read',
  notes: 'read',
  stats: 'read',
  graphs: 'read',
  drop: 'kept',
};

/** The longest that is left to others between two transactions that write. */
const BREATH_MS = 25;
/** Between two transactions that clear away a graph: others may write meanwhile. */
const SWEEP_PAUSE_MS = 20;
/** About what a row and its words take in the journal. */
const BYTES_A_ROW = 400;
/** Bytes in the journal, about, from which no pause is waited for to bring them into the file. */
const OVERDUE = 32 * 1024 * 1024;
const MEMORY = 'memory';

/** Throws where the tables cannot be opened. */
export function serveGraph(settings: GraphSettings): GraphServer {
  const { path, lockTimeoutMs } = settings;
  const describe = (thrown: unknown): RuntimeError => describeFailure(path ?? MEMORY, lockTimeoutMs, thrown);
  try {
    return serve(openGraphDatabase(settings), settings, describe);
  } catch (error) {
    throw describe(error);
  }
}

function serve(
  db: DatabaseSync,
  { path, durability }: GraphSettings,
  describe: (thrown: unknown) => RuntimeError,
): GraphServer {
  const rows = createGraphRows(db);
  const checkpoints = path === null ? undefined : createCheckpoints(db, { overdue: OVERDUE });
  /** From when on the next transaction may begin. */
  let readyAt = 0;
  let sweeping: ReturnType<typeof setTimeout> | undefined;

  const inTransaction = <T>(begin: 'BEGIN' | 'BEGIN IMMEDIATE', work: () => T): T => {
    db.exec(begin);
    try {
      const value = work();
      db.exec('COMMIT');
      return value;
    } catch (error) {
      rollBack();
      throw error;
    }
  };
  const rollBack = () => {
    try {
      db.exec('ROLLBACK');
    } catch (error) {
      // After a full disk SQLite has rolled back by itself; any other reason shows at the next BEGIN.
      if (!(error instanceof Error)) throw error;
    }
  };

  const sweep = () => {
    sweeping = undefined;
    try {
      if (inTransaction('BEGIN IMMEDIATE', rows.sweep)) sweepLater();
      checkpoints?.committed(BYTES_A_ROW);
    } catch (error) {
      // Nobody waits for it: what is left is cleared away when the store is next opened.
      if (!(error instanceof Error && 'errcode' in error)) throw error;
    }
  };
  const sweepLater = () => {
    sweeping ??= setTimeout(sweep, SWEEP_PAUSE_MS);
    sweeping.unref();
  };
  sweepLater();

  const perform = ({ op, args }: GraphRequest): GraphResult<GraphOp> => {
    const way = WAY[op];
    if (way === 'read') return inTransaction('BEGIN', () => call(rows, op, args));
    const early = readyAt - performance.now();
    if (path !== null && early > 0) pause(Math.min(BREATH_MS, early));
    const began = performance.now();
    const isKept = way === 'kept' && durability === 'power' && path !== null;
    if (isKept) db.exec('PRAGMA synchronous = FULL');
    try {
      const value = inTransaction('BEGIN IMMEDIATE', () => call(rows, op, args));
      if (op === 'drop') sweepLater();
      checkpoints?.committed(rowsOf(op, args) * BYTES_A_ROW);
      return value;
    } finally {
      if (isKept) db.exec('PRAGMA synchronous = NORMAL');
      // As long again as it took, since who waits for the file's lock only looks now and then.
      readyAt = 2 * performance.now() - began;
    }
  };

  return {
    answer(request) {
      try {
        return { id: request.id, value: perform(request) };
      } catch (error) {
        return { id: request.id, error: (error instanceof RuntimeError ? error : describe(error)).toJSON() };
      }
    },
    close() {
      clearTimeout(sweeping);
      checkpoints?.stop();
      db.close();
    },
  };
}

/** The arguments are those of the operation: both come from one call of the port. */
const call = (rows: OpenRows, op: GraphOp, args: GraphArgs<GraphOp>): GraphResult<GraphOp> =>
  (rows[op] as (...args: GraphArgs<GraphOp>) => GraphResult<GraphOp>)(...args);

function rowsOf(op: GraphOp, args: GraphArgs<GraphOp>): number {
  if (op !== 'write') return 1;
  let count = 1;
  for (const { symbols, imports, calls } of (args as GraphArgs<'write'>)[1].records ?? [])
    count += symbols.length + imports.length + calls.length;
  return count;
}

/** The words' and rows' inner pages stay at hand: with SQLite's 2 MB writing 5,000 files takes half as long again. */
const CACHE_KIB = 32 * 1024;

/**
 * Opens the tables in the store's file, which is there, or in memory. They have a version of their own, so that a store
 * without a graph stays as it is, and one with a graph can be opened by every telltale that knows its log.
 */
function openGraphDatabase(settings: GraphSettings): DatabaseSync {
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

/**
 * Rows of a file lie side by side: their ids are a range that the file's row names (`symbols` to `symbols_end`, …), so
 * that it is replaced without an index by file. Ids are never given twice (`graph_next`). Its calls are one row.
 *
 * Names are found through the words, `whole` and `graph_call_words`, and not by an index on a column: twenty files have
 * two thousand names, and each changed another page of such an index. FTS5 writes what is new in one piece, and the
 * journal is a fifth as long. The words have no content: they only lead to ids. `detail` leaves out positions, which
 * nothing asks for.
 */
const FIRST = `
CREATE TABLE graph_next (symbol INTEGER NOT NULL, import INTEGER NOT NULL);
INSERT INTO graph_next VALUES (1, 1);
CREATE TABLE graph_graphs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  at_commit TEXT,
  walked_at REAL
);
CREATE TABLE graph_files (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  graph INTEGER NOT NULL,
  path TEXT NOT NULL,
  hash TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime REAL NOT NULL,
  read_at REAL NOT NULL,
  language TEXT,
  note TEXT,
  symbols INTEGER NOT NULL,
  symbols_end INTEGER NOT NULL,
  imports INTEGER NOT NULL,
  imports_end INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  UNIQUE (graph, path)
);
CREATE TABLE graph_symbols (
  id INTEGER PRIMARY KEY,
  graph INTEGER NOT NULL,
  file INTEGER NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  signature TEXT NOT NULL,
  exported INTEGER NOT NULL,
  container INTEGER,
  within TEXT,
  doc TEXT
);
CREATE TABLE graph_imports (
  id INTEGER PRIMARY KEY,
  graph INTEGER NOT NULL,
  file INTEGER NOT NULL,
  specifier TEXT NOT NULL,
  line INTEGER NOT NULL,
  names TEXT NOT NULL,
  reexport INTEGER NOT NULL,
  target TEXT
);
CREATE INDEX graph_imports_by_target ON graph_imports (graph, target, file);
CREATE TABLE graph_calls (file INTEGER PRIMARY KEY, calls TEXT NOT NULL);
CREATE TABLE graph_facts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  graph INTEGER NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  about TEXT NOT NULL,
  session TEXT,
  at_commit TEXT,
  at REAL NOT NULL,
  supersedes TEXT NOT NULL,
  superseded INTEGER NOT NULL,
  UNIQUE (graph, key)
);
CREATE TABLE graph_fact_subjects (
  fact INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  path TEXT,
  symbol TEXT
);
CREATE INDEX graph_fact_subjects_by_fact ON graph_fact_subjects (fact);
CREATE INDEX graph_fact_subjects_by_path ON graph_fact_subjects (graph, path) WHERE path IS NOT NULL;
CREATE INDEX graph_fact_subjects_by_symbol ON graph_fact_subjects (graph, symbol) WHERE symbol IS NOT NULL;
CREATE TABLE graph_fact_files (
  fact INTEGER NOT NULL,
  path TEXT NOT NULL,
  hash TEXT,
  PRIMARY KEY (fact, path)
) WITHOUT ROWID;
CREATE TABLE graph_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  graph INTEGER NOT NULL,
  session TEXT NOT NULL,
  title TEXT NOT NULL,
  at REAL NOT NULL,
  at_commit TEXT,
  UNIQUE (graph, session)
);
CREATE TABLE graph_session_files (
  graph INTEGER NOT NULL,
  path TEXT NOT NULL,
  session INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  PRIMARY KEY (graph, path, session)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE graph_call_words USING fts5 (
  names, content='', contentless_delete=1, detail=none, tokenize='unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE graph_symbol_words USING fts5 (
  whole, name, text, content='', contentless_delete=1, detail=column, tokenize='unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE graph_file_words USING fts5 (
  whole, name, text, content='', contentless_delete=1, detail=column, tokenize='unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE graph_fact_words USING fts5 (
  whole, name, text, content='', contentless_delete=1, detail=column, tokenize='unicode61 remove_diacritics 2'
);
`;

/** The n-th brings the graphs of a store from version n to n + 1. Only ever add to the end. */
const GRAPH_MIGRATIONS: readonly string[] = [FIRST];
