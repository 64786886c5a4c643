import type { Json, JsonObject } from '../../../kernel/json.ts';
import type { SqlDatabase, SqlLimits } from './sql-database.ts';

/** A row for each column. */
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

/** Tables and views, each with its columns. */
export async function readSchema(
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
    ...(result?.isCut === true ? { truncated: 'There are more. Ask for one with "table".' } : {}),
  };
}
