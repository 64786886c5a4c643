import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { JsonObject } from '../../../../kernel/json.ts';
import { APPLICATION_ID } from '../../../../store/sqlite/thread/migrations.ts';
import type { SqlLimits, SqlMode, SqlResult } from '../sql-database.ts';
import { ONE_STATEMENT } from '../sql-errors.ts';
import type { BoundStatement, FromServer, ToServer } from './messages.ts';
import { describeFailure } from './sqlite-failure.ts';
import { fromSqlite, toSqlite } from './sqlite-values.ts';

/** How long a lock of another process is waited for. */
const LOCK_MS = 3_000;

export interface SqliteServer {
  answer(message: ToServer): FromServer;
  close(): void;
}

/** Runs in a process of its own: a statement blocks it, and only its end can stop one. */
export function createSqliteServer(): SqliteServer {
  let db: DatabaseSync | undefined;
  return {
    answer(message) {
      try {
        if (message.op === 'open') {
          db = open(message.path);
          return { kind: 'opened' };
        }
        if (db === undefined) return { kind: 'unusable', why: 'it is not open', retryable: false };
        return { kind: 'done', results: run(db, message.mode, message.statements, message.limits) };
      } catch (thrown) {
        if (thrown === ROW_TOO_LARGE) return { kind: 'row_too_large' };
        return describeFailure(thrown, message.op);
      }
    },
    close: () => db?.close(),
  };
}

function open(path: string): DatabaseSync {
  const db = new DatabaseSync(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${LOCK_MS}`);
    if (db.prepare('PRAGMA application_id').get()?.application_id === APPLICATION_ID)
      throw new Error("it is the runtime's own store");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function run(
  db: DatabaseSync,
  mode: SqlMode,
  statements: readonly BoundStatement[],
  limits: SqlLimits,
): readonly SqlResult[] {
  const all = () => statements.map((statement) => runOne(db, statement, limits, mode !== 'read'));
  switch (mode) {
    case 'write':
      return all();
    case 'read':
      db.exec('PRAGMA query_only = ON');
      try {
        return all();
      } finally {
        db.exec('PRAGMA query_only = OFF');
      }
    case 'transaction': {
      db.exec('BEGIN IMMEDIATE');
      try {
        const results = all();
        db.exec('COMMIT');
        return results;
      } catch (error) {
        rollBack(db);
        throw error;
      }
    }
  }
}

function rollBack(db: DatabaseSync): void {
  try {
    db.exec('ROLLBACK');
  } catch (error) {
    // After some failures, a full disk for one, SQLite has rolled back by itself.
    if (!(error instanceof Error)) throw error;
  }
}

const ROW_TOO_LARGE = new Error('row too large');

function runOne(
  db: DatabaseSync,
  { sql, bindings }: BoundStatement,
  { maxRows, maxBytes }: SqlLimits,
  mustFinish: boolean,
): SqlResult {
  const statement = prepare(db, sql);
  const before = changesSoFar(db).total;
  const rows: JsonObject[] = [];
  let bytes = 0;
  let isCut = false;
  for (const row of each(statement, bindings)) {
    if (isCut) continue; // a statement that changes something has to come to its end, whoever wants its rows
    const shown = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, fromSqlite(value)]));
    const size = Buffer.byteLength(JSON.stringify(shown));
    if (size > maxBytes && !mustFinish) throw ROW_TOO_LARGE;
    isCut = rows.length >= maxRows || bytes + size > maxBytes;
    if (isCut && !mustFinish) break;
    if (isCut) continue;
    rows.push(shown);
    bytes += size;
  }
  const { total, last, id } = changesSoFar(db);
  const affected = total === before ? 0 : last; // without what triggers have changed
  return { rows, isCut, affected, ...(affected > 0 && INSERT.test(sql) ? { lastId: fromSqlite(id) } : {}) };
}

const INSERT = /\b(?:insert|replace)\s+(?:or\s+\w+\s+)?into\b/i;

/** SQLite itself compiles the first statement only, and says how far that went. */
function prepare(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  const rest = sql.slice(statement.sourceSQL.length).replace(/\/\*[\s\S]*?(?:\*\/|$)|--[^\n]*|[\s;]/g, '');
  if (rest !== '')
    throw Object.assign(new Error('there is more than one statement in it'), { hint: ONE_STATEMENT });
  statement.setReadBigInts(true);
  return statement;
}

function each(statement: StatementSync, bindings: BoundStatement['bindings']) {
  if ('places' in bindings) return statement.iterate(...bindings.places.map(toSqlite));
  const names = Object.entries(bindings.names).map(([name, value]) => [name, toSqlite(value)] as const);
  return statement.iterate(Object.fromEntries(names));
}

function changesSoFar(db: DatabaseSync) {
  const statement = db.prepare(
    'SELECT total_changes() AS total, changes() AS last, last_insert_rowid() AS id',
  );
  statement.setReadBigInts(true);
  const { total = 0n, last = 0n, id = 0n } = statement.get() ?? {};
  return { total, last: Number(last), id };
}
