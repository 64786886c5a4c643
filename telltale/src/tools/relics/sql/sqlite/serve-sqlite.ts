import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import type { Json, JsonObject } from '../../../../lib/json.ts';
import { APPLICATION_ID } from '../../../../store/sqlite/thread/migrations.ts';
import {
  badParams,
  ONE_STATEMENT,
  type SqlLimits,
  type SqlMode,
  type SqlProblem,
  type SqlResult,
  type SqlStatement,
} from '../sql-database.ts';

/** How long to wait for a lock of another process. */
const LOCK_MS = 3_000;

export interface SqliteServer {
  answer(message: ToServer): FromServer;
  close(): void;
}

/** Runs in a separate process: a statement blocks the process, and only killing the process stops it. */
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
    // After some failures, such as a full disk, SQLite has already rolled back by itself.
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
    if (isCut) continue; // a changing statement must run to its end, even if no more rows are wanted
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
  const affected = total === before ? 0 : last; // without the changes of triggers
  return {
    rows,
    isTruncated: isCut,
    affected,
    ...(affected > 0 && INSERT.test(sql) ? { lastId: fromSqlite(id) } : {}),
  };
}

const INSERT = /\b(?:insert|replace)\s+(?:or\s+\w+\s+)?into\b/i;

/** SQLite compiles only the first statement, and tells where it ends. */
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

/**
 * Binds whole numbers as integers, because a double would appear as 5.0 in text. SQLite has no booleans and no lists,
 * so those become 1, 0 and JSON, which its json functions read.
 */
function toSqlite(value: Json): SQLInputValue {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  return JSON.stringify(value);
}

/** Bytes become base64. Whole numbers beyond 2^53 and numbers that JSON does not support become text. */
function fromSqlite(value: SQLOutputValue): Json {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
}

/** Primary result codes of SQLite. */
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

const HINTS: Readonly<Record<number, string>> = {
  [BUSY]: 'Another process holds the file. Try again.',
  [LOCKED]: 'Another process holds the file. Try again.',
  [READONLY]:
    'The operation "query" cannot change anything. Use "execute". If you did, the file is read-only.',
};

/** Describes an error thrown by SQLite, or by Node on its behalf. */
function describeFailure(thrown: unknown, op: ToServer['op']): FromServer {
  const { message, errcode, hint } = thrown as {
    readonly message?: string;
    readonly errcode?: number;
    readonly hint?: string;
  };
  const text = message ?? String(thrown);
  const code = (errcode ?? 0) & 0xff;
  const isPassing = code === BUSY || code === LOCKED;
  if (op === 'open' || code === CANNOT_OPEN || code === NOT_A_DATABASE)
    return { kind: 'unusable', why: text, retryable: isPassing };
  return { kind: 'refused', problem: { message: text, hint: hint ?? HINTS[code], retryable: isPassing } };
}

/** Messages between a relic and the process that has its file open, each one line of JSON. */

export interface BoundStatement {
  readonly sql: string;
  readonly bindings: Bindings;
}

export type ToServer =
  | { readonly op: 'open'; readonly path: string }
  | {
      readonly op: 'run';
      readonly mode: SqlMode;
      readonly statements: readonly BoundStatement[];
      readonly limits: SqlLimits;
    };

export type FromServer =
  | { readonly kind: 'opened' }
  | { readonly kind: 'done'; readonly results: readonly SqlResult[] }
  /** The file cannot be used. */
  | { readonly kind: 'unusable'; readonly why: string; readonly retryable: boolean }
  | { readonly kind: 'refused'; readonly problem: SqlProblem }
  | { readonly kind: 'row_too_large' };

/**
 * Encodes a message as one line. `node:readline` also splits lines at U+2028 and U+2029, which JSON does not escape.
 */
export const messageLine = (message: ToServer | FromServer): string =>
  `${JSON.stringify(message).replace(/[\u2028\u2029]/g, (mark) => (mark === '\u2028' ? '\\u2028' : '\\u2029'))}\n`;

/** Values for SQLite: for `?` in order, or by name with its prefix (`:name`, `$1`, `?2`). */
export type Bindings = { readonly places: readonly Json[] } | { readonly names: JsonObject };

/**
 * Matches the parts of a statement, to find the placeholders. Text, quoted names and comments are skipped, and so are
 * words and numbers, which may contain `$`. Each part matches on its own, so long texts are read in linear time.
 */
const TOKEN =
  /'[^']*'?|"[^"]*"?|`[^`]*`?|\[[^\]]*\]?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[A-Za-z_\x80-\u{10ffff}][\w$\x80-\u{10ffff}]*|\d[\w.]*|(?<placeholder>\?\d*|[:@$][\w$\x80-\u{10ffff}]+)/gu;

/** Pairs the placeholders of a statement with values. SQLite itself would silently use NULL for a missing value. */
export function bindParams(what: string, { sql, params }: SqlStatement): Bindings {
  const all = placeholders(sql);
  const places = all.filter((name) => name === '?').length;
  const found = [...new Set(all.filter((name) => name !== '?'))];
  if (places > 0 && found.length > 0)
    throw badParams(
      what,
      `would have to fill both "?" and "${found[0]}"`,
      'Use only one kind of placeholder in a statement.',
    );
  if (Array.isArray(params)) return byPlace(what, params, places, found);
  return byName(what, params as JsonObject, places, found);
}

export function placeholders(sql: string): readonly string[] {
  return [...sql.matchAll(TOKEN)].flatMap(({ groups }) =>
    groups?.placeholder === undefined ? [] : [groups.placeholder],
  );
}

function byPlace(what: string, params: readonly Json[], places: number, found: readonly string[]): Bindings {
  const named = found.find((name) => !/^[?$]\d+$/.test(name));
  if (named !== undefined)
    throw badParams(
      what,
      `is a list, but the statement has "${named}"`,
      `Give an object: { "${named.slice(1)}": … }.`,
    );
  const wanted = found.length === 0 ? places : Math.max(...found.map((name) => Number(name.slice(1))));
  if (wanted !== params.length)
    throw badParams(
      what,
      `has ${params.length} ${params.length === 1 ? 'value' : 'values'}, but the statement has ${wanted} placeholders`,
      'Give a value for each "?", in order.',
    );
  if (found.length === 0) return { places: params };
  return {
    names: Object.fromEntries(found.map((name) => [name, params[Number(name.slice(1)) - 1] ?? null])),
  };
}

function byName(what: string, params: JsonObject, places: number, found: readonly string[]): Bindings {
  if (places > 0) throw badParams(what, 'is an object, but the statement has "?"', 'Give a list, in order.');
  const missing = found.find((name) => !Object.hasOwn(params, name.slice(1)));
  if (missing !== undefined)
    throw badParams(
      what,
      `has no "${missing.slice(1)}", which the statement uses as "${missing}"`,
      'Add it. null is allowed.',
    );
  const odd = Object.keys(params).find((name) => !found.some((each) => each.slice(1) === name));
  if (odd !== undefined)
    throw badParams(what, `has "${odd}", but the statement has no ":${odd}"`, 'Leave it out, or use it.');
  return { names: Object.fromEntries(found.map((name) => [name, params[name.slice(1)] ?? null])) };
}
