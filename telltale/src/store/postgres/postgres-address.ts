import { addressMalformed } from './postgres-errors.ts';

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
