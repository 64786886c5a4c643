import type { Json, JsonObject } from '../../../kernel/json.ts';
import type { Operation } from '../../operations.ts';
import { type Connection, readConnection, wholeOption } from '../read-connection.ts';
import type { RelicContext, RelicDriver } from '../relic-driver.ts';
import { relicHealth } from '../relic-health.ts';
import { checkStatement } from './check-statement.ts';
import { createPostgresDatabase } from './postgres/postgres-database.ts';
import { readSchema } from './read-schema.ts';
import type { SqlDatabase, SqlLimits, SqlResult, SqlStatement } from './sql-database.ts';
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

const NOTHING: SqlResult = { rows: [], isCut: false, affected: 0 };

const cut = (isCut: boolean, rows: readonly Json[], maxRows: number): JsonObject =>
  isCut
    ? {
        truncated: `There are more rows than these ${rows.length}: ${rows.length >= maxRows ? 'the limit is reached' : 'more would be too large'}. Ask for fewer, or for the next with LIMIT and OFFSET.`,
      }
    : {};

const shownRows = ({ rows, isCut }: SqlResult = NOTHING, maxRows: number): JsonObject => ({
  rows,
  ...cut(isCut, rows, maxRows),
});

const shownChange = (
  { rows, isCut, affected, lastId }: SqlResult = NOTHING,
  maxRows: number,
): JsonObject => ({
  affected,
  ...(lastId === undefined ? {} : { last_id: lastId }),
  ...(rows.length === 0 ? {} : { rows, ...cut(isCut, rows, maxRows) }),
});
