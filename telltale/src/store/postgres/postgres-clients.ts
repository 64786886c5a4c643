import type { Client, ClientConfig, Pool } from 'pg';
import type { RuntimeError } from '../../lib/errors.ts';
import { addressMalformed, describePostgresFailure } from './postgres-errors.ts';

/** Makes connections to one database. */
export interface PostgresClients {
  /** Connected, and set up with these statements. Rejects with a RuntimeError. */
  connect(settings: string): Promise<Client>;
  /** For what may go over any connection. */
  readonly pool: Pool;
  readonly describe: (thrown: unknown) => RuntimeError;
  close(): Promise<void>;
}

const KEEP_ALIVE_AFTER_MS = 10_000;
const POOL_IDLE_MS = 30_000;

/**
 * A server that compiles queries to machine code (`jit`) would spend longer on that than on any of ours. Locks are taken
 * within transactions, and what is read behind one must be of after it. Said on each connection, and not when it is
 * begun: a pooler in between refuses such options.
 */
const SETTINGS = "SET jit = off; SET default_transaction_isolation = 'read committed';";

/** Connections that do nothing do not keep the process. */
export async function createPostgresClients(
  { connectionString, connectTimeoutMs, place }: PostgresAddress,
  { poolSize, timeoutMs }: { readonly poolSize: number; readonly timeoutMs: number },
): Promise<PostgresClients> {
  const { default: pg } = await import('pg');
  const describe = (thrown: unknown) => describePostgresFailure(place, thrown);
  const config: ClientConfig = {
    connectionString,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    fallback_application_name: 'telltale',
    query_timeout: timeoutMs,
  };
  const pool = new pg.Pool({
    ...config,
    max: poolSize,
    idleTimeoutMillis: POOL_IDLE_MS,
    allowExitOnIdle: true,
    onConnect: async (client) => void (await client.query(SETTINGS)),
  });
  pool.on('error', () => undefined); // an idle connection broke: the next request takes another
  return {
    pool,
    describe,
    async connect(settings) {
      const client = new pg.Client(config);
      client.on('error', () => undefined); // whoever uses it hears of it from his own query, or by `end`
      try {
        await client.connect();
        await client.query(`${SETTINGS} ${settings}`);
        return client;
      } catch (error) {
        client.end().catch(() => undefined); // it may never have begun
        throw describe(error);
      }
    },
    close: () => pool.end(),
  };
}

/** Whether a connection keeps the process. `pg` has this, but its types do not say so. */
export function setHeld(client: Client, isHeld: boolean): void {
  const socket = client as unknown as { ref(): void; unref(): void };
  if (isHeld) socket.ref();
  else socket.unref();
}

/** Where a store on PostgreSQL is, and what of it is whose. */
export interface PostgresAddress {
  /** For `pg`, without what is ours. */
  readonly connectionString: string;
  /** `HOST:PORT/DATABASE`, for messages. */
  readonly place: string;
  /** `postgres://HOST:PORT/DATABASE`, and the schema where it is not the usual: no password, no user. */
  readonly location: string;
  readonly schema: string;
  readonly fleet: string;
  readonly connectTimeoutMs: number;
  /** Without a sign of life for so long a process of the fleet is dead; all of a fleet say the same. */
  readonly leaseMs?: number;
}

const USUAL = 'telltale';
const PORT = '5432';
const CONNECT_TIMEOUT_S = 10;
/** What needs no quotes in SQL, with room for `_jobs` behind it in the 63 bytes of a name. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,50}$/;
const FLEET = /^[\w.-]{1,100}$/;

/** Throws `store_unknown` for what is no address. Its text is not repeated: there may be a password in it. */
export function parsePostgresAddress(url: string): PostgresAddress {
  const parsed = URL.parse(url);
  if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol))
    throw addressMalformed('it is no URL that begins with postgres:// and a host');
  for (const part of [parsed.username, parsed.password, parsed.hostname, parsed.pathname])
    if (/%(?![0-9a-f]{2})/i.test(part))
      throw addressMalformed('a "%" in it is not followed by two hex digits');
  // Else a part of a password with a "/" in it is taken for the database, and shown.
  if (parsed.pathname.includes('@'))
    throw addressMalformed('there is an "@" behind its first "/": perhaps of a password that is not escaped');
  const { searchParams } = parsed;
  const schema = searchParams.get('schema') ?? USUAL;
  const fleet = searchParams.get('fleet') ?? USUAL;
  if (!SCHEMA.test(schema) || schema.startsWith('pg_'))
    throw addressMalformed(`"${schema}" cannot be a schema here: small letters, digits and _, 51 at most`);
  if (!FLEET.test(fleet))
    throw addressMalformed(`"${fleet}" cannot be a fleet: letters, digits, . _ and -, 100 at most`);
  const seconds = Number(searchParams.get('connect_timeout') ?? CONNECT_TIMEOUT_S);
  if (!(seconds >= 0)) throw addressMalformed('its connect_timeout is no number of seconds');
  const lease = readLease(searchParams.get('lease'));
  for (const own of ['schema', 'fleet', 'lease', 'connect_timeout']) searchParams.delete(own);
  const host = searchParams.get('host') ?? parsed.hostname;
  const database = decodeURIComponent(parsed.pathname.slice(1));
  if (host === '' || database === '') throw addressMalformed('it names no host or no database');
  const place = `${decodeURIComponent(host)}:${parsed.port || PORT}/${database}`;
  return {
    connectionString: parsed.href,
    place,
    location: `postgres://${place}${schema === USUAL ? '' : `?schema=${schema}`}`,
    schema,
    fleet,
    connectTimeoutMs: seconds === 0 ? 0 : seconds * 1000,
    ...(lease === undefined ? {} : { leaseMs: lease }),
  };
}

/** Shorter ones would take a busy process for a dead one; longer ones leave what a dead one held to nobody for too long. */
const SHORTEST_LEASE_MS = 1_000;
const LONGEST_LEASE_MS = 600_000;

function readLease(given: string | null): number | undefined {
  if (given === null) return undefined;
  const lease = Number(given);
  if (Number.isInteger(lease) && lease >= SHORTEST_LEASE_MS && lease <= LONGEST_LEASE_MS) return lease;
  throw addressMalformed(
    `its lease is no whole number of milliseconds from ${SHORTEST_LEASE_MS} to ${LONGEST_LEASE_MS}`,
  );
}
