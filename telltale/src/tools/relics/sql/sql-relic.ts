import type { Json, JsonObject } from '../../../lib/json.ts';
import type { Operation } from '../../operations.ts';
import type { RelicContext, RelicDriver } from '../relic-driver.ts';
import { type Connection, readConnection, relicHealth, wholeOption } from '../relic-driver.ts';
import { createPostgresDatabase } from './postgres/postgres-database.ts';
import type { SqlDatabase, SqlLimits, SqlResult, SqlStatement } from './sql-database.ts';
import { ONE_STATEMENT, statementRefused } from './sql-database.ts';
import { createSqliteDatabase } from './sqlite/sqlite-database.ts';

const DEFAULT_ROWS = 1_000;
const DEFAULT_BYTES = 1024 * 1024;
const DEFAULT_POOL = 4;
const MAX_SQL = 100_000;
const MAX_STATEMENTS = 100;

const SQL = { type: 'string', minLength: 1, maxLength: MAX_SQL, description: 'One statement.' };

/** A database: a SQLite file, or PostgreSQL. */
export function sqlDriver(context: RelicContext): RelicDriver {
  const { what, deps } = context;
  const connection = readConnection(context, ['max_rows', 'max_bytes', 'pool']);
  const limits: SqlLimits = {
    maxRows: wholeOption(context, connection, 'max_rows', DEFAULT_ROWS),
    maxBytes: wholeOption(context, connection, 'max_bytes', DEFAULT_BYTES),
  };
  const database = openDatabase(context, connection);
  const { dialect, where } = database;
  const params = {
    type: dialect === 'sqlite' ? ['array', 'object'] : 'array',
    description:
      dialect === 'sqlite'
        ? 'Values for ? (a list) or for :name (an object). Never write a value into the statement.'
        : 'Values for $1, $2 … Never write a value into the statement.',
  };
  const statementOf = ({ sql, params: given = [] }: JsonObject, reads: boolean): SqlStatement => {
    checkStatement(what, dialect, String(sql), reads);
    return { sql: String(sql), params: given as SqlStatement['params'] };
  };

  const operations: Readonly<Record<string, Operation>> = {
    query: {
      description: 'reads rows; cannot change anything',
      parameters: {
        sql: SQL,
        params,
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: limits.maxRows,
          description: `How many rows; ${limits.maxRows} if absent.`,
        },
      },
      required: ['sql'],
      idempotent: true,
      async run(input, { signal }) {
        const maxRows = Number(input.limit ?? limits.maxRows);
        const request = {
          mode: 'read',
          statements: [statementOf(input, true)],
          limits: { ...limits, maxRows },
        } as const;
        const [result] = await database.run(request, signal);
        return shownRows(result, maxRows);
      },
    },
    execute: {
      description: 'carries out one statement that changes something',
      parameters: { sql: SQL, params },
      required: ['sql'],
      idempotent: false,
      async run(input, { signal }) {
        const request = { mode: 'write', statements: [statementOf(input, false)], limits } as const;
        const [result] = await database.run(request, signal);
        return shownChange(result, limits.maxRows);
      },
    },
    transaction: {
      description: 'carries out several statements, or none of them if one fails',
      parameters: {
        statements: {
          type: 'array',
          minItems: 1,
          maxItems: MAX_STATEMENTS,
          items: {
            type: 'object',
            properties: { sql: SQL, params },
            required: ['sql'],
            additionalProperties: false,
          },
          description: 'In order: { sql, params }.',
        },
      },
      required: ['statements'],
      idempotent: false,
      async run({ statements }, { signal }) {
        const request = {
          mode: 'transaction',
          statements: (statements as readonly JsonObject[]).map((each) => statementOf(each, false)),
          limits,
        } as const;
        const results = await database.run(request, signal);
        return { results: results.map((result) => shownChange(result, limits.maxRows)) };
      },
    },
    schema: {
      description: 'tables and views with their columns',
      parameters: { table: { type: 'string', minLength: 1, description: 'Only this one.' } },
      idempotent: true,
      run: async ({ table }, { signal }) =>
        readSchema(database, typeof table === 'string' ? table : undefined, limits, signal),
    },
    health: relicHealth({
      what,
      driver: 'sql',
      where,
      clock: deps.clock,
      async ask(signal) {
        const sql =
          dialect === 'sqlite'
            ? 'SELECT sqlite_version() AS v'
            : "SELECT current_setting('server_version') AS v";
        const [result] = await database.run(
          { mode: 'read', statements: [{ sql, params: [] }], limits },
          signal,
        );
        return { dialect, version: result?.rows[0]?.v ?? null };
      },
    }),
  };
  return { operations, byDefault: 'query', close: database.close };
}

function openDatabase(context: RelicContext, connection: Connection): SqlDatabase {
  const { what, deps } = context;
  if (!/^postgres(?:ql)?:\/\//i.test(connection.url)) return createSqliteDatabase(context, connection.url);
  const size = wholeOption(context, connection, 'pool', DEFAULT_POOL);
  return createPostgresDatabase({ what, file: context.file, url: connection.url, size, clock: deps.clock });
}

const NOTHING: SqlResult = { rows: [], isTruncated: false, affected: 0 };

const cut = (isCut: boolean, rows: readonly Json[], maxRows: number): JsonObject =>
  isCut
    ? {
        truncated: `There are more rows than these ${rows.length}: ${rows.length >= maxRows ? 'the limit is reached' : 'more would be too large'}. Ask for fewer, or for the next with LIMIT and OFFSET.`,
      }
    : {};

const shownRows = ({ rows, isTruncated: isCut }: SqlResult = NOTHING, maxRows: number): JsonObject => ({
  rows,
  ...cut(isCut, rows, maxRows),
});

const shownChange = (
  { rows, isTruncated: isCut, affected, lastId }: SqlResult = NOTHING,
  maxRows: number,
): JsonObject => ({
  affected,
  ...(lastId === undefined ? {} : { last_id: lastId }),
  ...(rows.length === 0 ? {} : { rows, ...cut(isCut, rows, maxRows) }),
});

/** Returns one row per column. */
const COLUMNS: Readonly<Record<SqlDatabase['dialect'], string>> = {
  sqlite: `SELECT t.name AS "table", t.type AS kind, c.name AS "column", c.type AS type,
      c."notnull" = 0 AS nullable, c.pk > 0 AS key
    FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
    WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND ($1 IS NULL OR t.name = $1)
    ORDER BY t.name, c.cid`,
  postgres: `SELECT CASE WHEN t.table_schema = current_schema() THEN '' ELSE t.table_schema || '.' END || t.table_name AS "table",
      CASE t.table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END AS kind,
      c.column_name AS "column", c.data_type AS type, (c.is_nullable = 'YES')::int AS nullable,
      (EXISTS (
        SELECT FROM information_schema.table_constraints k
        JOIN information_schema.key_column_usage u USING (constraint_schema, constraint_name)
        WHERE k.constraint_type = 'PRIMARY KEY' AND u.table_schema = c.table_schema
          AND u.table_name = c.table_name AND u.column_name = c.column_name
      ))::int AS key
    FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name)
    WHERE t.table_schema NOT IN ('pg_catalog', 'information_schema')
      AND ($1::text IS NULL OR t.table_name = $1 OR t.table_schema || '.' || t.table_name = $1)
    ORDER BY t.table_schema, t.table_name, c.ordinal_position`,
};

/** Reads tables and views with their columns. */
async function readSchema(
  database: SqlDatabase,
  table: string | undefined,
  limits: SqlLimits,
  signal: AbortSignal,
): Promise<JsonObject> {
  const statement = { sql: COLUMNS[database.dialect], params: [table ?? null] };
  const [result] = await database.run({ mode: 'read', statements: [statement], limits }, signal);
  const tables = new Map<string, { readonly kind: Json; readonly columns: JsonObject[] }>();
  for (const { table: name, kind = null, column = null, type = null, nullable, key } of result?.rows ?? []) {
    const found = tables.get(String(name)) ?? { kind, columns: [] };
    tables.set(String(name), found);
    found.columns.push({
      name: column,
      type,
      ...(nullable === 1 ? {} : { required: true }),
      ...(key === 1 ? { key: true } : {}),
    });
  }
  return {
    tables: [...tables].map(([name, { kind, columns }]) => ({ name, kind, columns })),
    ...(result?.isTruncated === true ? { truncated: 'There are more. Ask for one with "table".' } : {}),
  };
}

const TRANSACTIONS =
  'It would hold for the calls of others on the same connection. The operation "transaction" carries out several statements, or none.';
const SETTINGS = 'It would hold for the calls of others on the same connection. Leave it out.';
const FILES = 'A relic has one file, the one in its "connection". Another file needs a relic of its own.';

/** Statements that have effects beyond the call, by their first word. */
const REFUSED: Readonly<Record<SqlDatabase['dialect'], ReadonlyMap<string, string>>> = {
  sqlite: new Map([
    ...words('BEGIN COMMIT END ROLLBACK SAVEPOINT RELEASE', TRANSACTIONS),
    ...words('ATTACH DETACH', FILES),
  ]),
  postgres: new Map([
    ...words('BEGIN START COMMIT END ROLLBACK ABORT SAVEPOINT RELEASE', TRANSACTIONS),
    ...words('SET RESET DISCARD PREPARE DEALLOCATE LISTEN UNLISTEN DECLARE FETCH MOVE CLOSE LOAD', SETTINGS),
    ...words('COPY', 'Use INSERT and SELECT.'),
  ]),
};

/** Pragmas that only report something. */
const PRAGMAS: ReadonlySet<string> = new Set(
  'table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check integrity_check quick_check user_version'.split(
    ' ',
  ),
);

/**
 * Statements that run code with effects that a read-only transaction does not prevent, such as COPY to a file or a
 * program.
 */
const NOT_READING: ReadonlySet<string> = new Set(['DO', 'CALL']);

/**
 * Throws for statements with effects outside the database or beyond the call. With `reads`, also throws for statements
 * that may write.
 */
function checkStatement(what: string, dialect: SqlDatabase['dialect'], sql: string, reads = false): void {
  const start = skipBlanks(sql, dialect === 'postgres');
  const word = /^[a-z_]*/i.exec(sql.slice(start, start + 40))?.[0].toUpperCase() ?? '';
  if (start === sql.length || sql[start] === ';') throw statementRefused(what, 'is empty', ONE_STATEMENT);
  const hint = REFUSED[dialect].get(word);
  if (hint !== undefined) throw statementRefused(what, `begins with ${word}`, hint);
  if (reads && NOT_READING.has(word))
    throw statementRefused(
      what,
      `begins with ${word}, and a query only reads`,
      'Use the operation "execute".',
    );
  if (dialect === 'postgres') return;
  const rest = sql.slice(start);
  if (word === 'VACUUM' && !/^vacuum\s*;?\s*$/i.test(rest))
    throw statementRefused(what, 'is a VACUUM with more behind it', FILES);
  if (word === 'PRAGMA') {
    const name = /^pragma\s+(?:\w+\s*\.\s*)?(\w+)/i.exec(rest)?.[1]?.toLowerCase() ?? '';
    if (!PRAGMAS.has(name))
      throw statementRefused(what, `is the pragma "${name}"`, `Allowed: ${[...PRAGMAS].join(', ')}.`);
  }
}

function words(list: string, hint: string): readonly (readonly [string, string])[] {
  return list.split(' ').map((word) => [word, hint] as const);
}

/** Where the first word begins, after blanks and comments. Comments nest in PostgreSQL. */
function skipBlanks(sql: string, commentsNest: boolean): number {
  let at = 0;
  for (;;) {
    while (/[\s\ufeff]/.test(sql[at] ?? '')) at++;
    if (sql.startsWith('--', at)) {
      const end = sql.indexOf('\n', at);
      at = end === -1 ? sql.length : end + 1;
    } else if (sql.startsWith('/*', at)) at = commentEnd(sql, at, commentsNest);
    else return at;
  }
}

function commentEnd(sql: string, start: number, nests: boolean): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = start + 2;
  let depth = 1;
  for (let mark = marks.exec(sql); mark !== null; mark = marks.exec(sql)) {
    if (mark[0] === '*/') depth--;
    else if (nests) depth++;
    if (depth === 0) return marks.lastIndex;
  }
  return sql.length;
}
