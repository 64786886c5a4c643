import type { Client } from 'pg';
import type { PostgresAddress } from '../postgres-clients.ts';
import {
  encodingUnsupported,
  notAllowed,
  otherFleet,
  readOnly,
  schemaForeign,
  schemaNewer,
  serverTooOld,
  storeMissing,
} from '../postgres-errors.ts';
import { META, MIGRATIONS, type Migration, PRODUCT } from './migrations.ts';

const OLDEST_SERVER = 140_000;
/** "tltl" and what it is for: two numbers, so that nobody else's lock of one number is met. */
const LOCK_CLASS = 0x746c746c;
const WAIT_MS = 60_000;

type MigrateWhere = Pick<PostgresAddress, 'schema' | 'fleet' | 'place'>;

interface Meta {
  readonly version: number;
  readonly compatible: number;
  readonly fleet: string;
}

/**
 * Checks that the schema is ours and brings it up to date: in one transaction, under a lock that all who start at once
 * take one after the other. Throws, and has then changed nothing, where it is not ours to use. `migrations` are what this
 * version knows; the last is its own. `mustExist`: none is made, but one that is there is brought up to date all the same.
 */
export async function migrate(
  client: Client,
  where: MigrateWhere,
  migrations: readonly Migration[] = MIGRATIONS,
  mustExist = false,
): Promise<void> {
  await checkServer(client, where);
  const before = await look(client, where, migrations);
  if (before !== undefined && before.version >= migrations.length) return checkRights(client, where);
  if (before === undefined) await checkJobs(client, where);
  if (before === undefined && mustExist) throw await whyMissing(client, where);
  await client.query('BEGIN');
  try {
    // Nobody waits for ever for one that was stopped half-way.
    await client.query(
      `SET LOCAL lock_timeout = ${WAIT_MS}; SET LOCAL idle_in_transaction_session_timeout = ${WAIT_MS}`,
    );
    await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK_CLASS, where.schema]);
    // Another may have been quicker while this one waited for the lock.
    await bring(client, where, await look(client, where, migrations), migrations);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined); // the first failure is what counts
    throw error;
  }
}

async function bring(
  client: Client,
  { schema, fleet }: MigrateWhere,
  meta: Meta | undefined,
  migrations: readonly Migration[],
): Promise<void> {
  const from = meta?.version ?? 0;
  if (from >= migrations.length) return;
  const run = (sql: string) => client.query(sql.replaceAll('{S}', `"${schema}"`));
  if (meta === undefined) {
    // Not IF NOT EXISTS: that needs the right to make one even where an administrator has made it for this user.
    const { rows } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
    if (rows.length === 0) await run('CREATE SCHEMA {S}');
    await run(META);
  }
  for (const { sql } of migrations.slice(from)) await run(sql);
  const compatible = migrations.at(-1)?.compatible ?? 0;
  await client.query(
    `INSERT INTO "${schema}".meta (product, version, compatible, fleet) VALUES ($1, $2, $3, $4)
      ON CONFLICT (product) DO UPDATE SET version = excluded.version, compatible = excluded.compatible`,
    [PRODUCT, migrations.length, compatible, fleet],
  );
}

async function checkServer(client: Client, { place }: MigrateWhere): Promise<void> {
  const { rows } = await client.query(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS called,
      current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby,
      current_setting('transaction_read_only') = 'on' AS readonly`,
  );
  const [server] = rows;
  if (server.version < OLDEST_SERVER) throw serverTooOld(place, server.called);
  if (server.encoding !== 'UTF8') throw encodingUnsupported(place, server.encoding);
  if (server.standby) throw readOnly(place, 'the server is a standby');
  if (server.readonly) throw readOnly(place, 'its transactions are read-only');
}

/** What the schema says of itself; undefined where it is not there, or empty: then it is ours to fill. */
async function look(
  client: Client,
  { schema, fleet, place }: MigrateWhere,
  migrations: readonly Migration[],
): Promise<Meta | undefined> {
  const { rows: found } = await client.query(
    `SELECT c.relname AS name, ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0) AS columns
      FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
      WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') ORDER BY c.relname = 'meta' DESC, c.relname LIMIT 1`,
    [schema],
  );
  if (found.length === 0) return undefined;
  const [{ name, columns }] = found;
  if (name !== 'meta' || !columns.includes('product') || !columns.includes('compatible'))
    throw schemaForeign(place, schema, `has "${name}" in it, which is not ours`);
  const { rows } = await client.query(
    `SELECT version, compatible, fleet FROM "${schema}".meta WHERE product = $1`,
    [PRODUCT],
  );
  const meta = rows[0] as Meta | undefined;
  if (meta === undefined) throw schemaForeign(place, schema, 'has a table "meta" of another program');
  if (meta.version > migrations.length && meta.compatible > migrations.length)
    throw schemaNewer(place, schema, meta.version, migrations.length);
  if (meta.fleet !== fleet) throw otherFleet(place, schema, meta.fleet, fleet);
  return meta;
}

/** What every version of the queue of a fleet has in its schema, beside the store's. */
const OF_QUEUE = ['job', 'queue', 'version'] as const;

/** The queue is made when a fleet is joined, after the store: that its schema is another's is found out here. */
async function checkJobs(client: Client, { schema, place }: MigrateWhere): Promise<void> {
  const jobs = `${schema}_jobs`;
  const { rows } = await client.query(
    `SELECT c.relname AS name FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
      WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') ORDER BY c.relname`,
    [jobs],
  );
  const names = rows.map(({ name }) => String(name));
  if (names.length > 0 && !OF_QUEUE.every((name) => names.includes(name)))
    throw schemaForeign(place, jobs, `has "${names[0]}" in it, which is not ours`);
}

/** Nothing was run on it yet; or nothing can be, since whoever asks may not make it: then that is what is to be told. */
async function whyMissing(client: Client, { schema, place }: MigrateWhere): Promise<Error> {
  const { rows } = await client.query(
    `SELECT current_user AS who, current_database() AS name, COALESCE(
      (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1),
      has_database_privilege(current_database(), 'CREATE')) AS may`,
    [schema],
  );
  const [{ who, name, may }] = rows;
  if (may) return storeMissing(place, schema);
  return notAllowed(
    place,
    `there is none yet, and "${who}" may not make it`,
    `GRANT CREATE ON DATABASE ${name} to it, or let an administrator run CREATE SCHEMA ${schema} AUTHORIZATION ${who}.`,
  );
}

/** A role that lacks one would otherwise fail at the first write of that kind, hours later. */
async function checkRights(client: Client, { schema, place }: MigrateWhere): Promise<void> {
  const { rows } = await client.query(
    `SELECT current_user AS who, c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND CASE c.relkind
        WHEN 'r' THEN NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
          AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
        WHEN 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE')
        ELSE false END ORDER BY c.relkind, c.relname LIMIT 1`,
    [schema],
  );
  const [lacking] = rows;
  if (lacking !== undefined)
    throw notAllowed(
      place,
      `"${lacking.who}" lacks a right to ${schema}.${lacking.name}`,
      `GRANT ALL ON SCHEMA ${schema} and ON ALL TABLES, SEQUENCES and FUNCTIONS IN SCHEMA ${schema} to it (and in ${schema}_jobs, where it is to work), or use the user who made the store.`,
    );
}
