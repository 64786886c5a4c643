import type { Socket } from 'node:net';
import type pg from 'pg';
import type { Clock } from '../../../../lib/clock.ts';
import type { RuntimeError } from '../../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../../lib/json.ts';
import { isMap } from '../../../../manifest/schema/plain-values.ts';
import { thrownMessage } from '../../../output/output.ts';
import { orStopped, stopped } from '../../../stop-and-wait.ts';
import {
  badConnection,
  redactor,
  relicBrokeOff,
  relicClosed,
  relicUnavailable,
  shownAddress,
} from '../../relic-driver.ts';
import type { SqlDatabase, SqlLimits, SqlRequest, SqlResult, SqlStatement } from '../sql-database.ts';
import { badParams, createTurnstile, ONE_STATEMENT, rowTooLarge, sqlRefused } from '../sql-database.ts';

export interface PostgresDeps {
  readonly what: string;
  readonly file: string;
  readonly url: string;
  /** How many connections there may be. */
  readonly size: number;
  readonly clock: Clock;
}

const CONNECT_MS = 5_000;
const IDLE_MS = 30_000;
/** How long a statement that was cancelled may take to end; then its connection is cut. */
const CANCEL_MS = 3_000;
/** The end of a transaction undoes what it has set, but for locks of its session. */
const END_OF_READING = 'ROLLBACK; SELECT pg_advisory_unlock_all()';

interface Postgres {
  readonly library: typeof pg;
  readonly pool: pg.Pool;
  readonly config: pg.ClientConfig;
}

/** A PostgreSQL server. A few connections, each made when it is needed. */
export function createPostgresDatabase({ what, file, url, size, clock }: PostgresDeps): SqlDatabase {
  if (!URL.canParse(url))
    throw badConnection(
      what,
      file,
      'is no postgres:// address that can be read',
      'Write it like postgres://USER:PASSWORD@HOST:5432/DATABASE; percent-encode what is special in a password.',
    );
  const where = shownAddress(url);
  const place = { what, where, redact: redactor(url) };
  const turnstile = createTurnstile(what, size);
  let postgres: Promise<Postgres> | undefined;
  let isClosed = false;

  const open = async (): Promise<Postgres> => {
    const { default: library } = await import('pg');
    const read = typeReaders(library.types.getTypeParser(TEXT_LIST as never) as (text: string) => unknown);
    const config = {
      connectionString: url,
      application_name: 'telltale',
      connectionTimeoutMillis: CONNECT_MS,
      types: { getTypeParser: (oid: number) => read(oid) },
    } as pg.ClientConfig;
    const pool = new library.Pool({
      ...config,
      max: size,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
    });
    // Whoever runs a statement hears of a connection that breaks; one that breaks while idle is replaced.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    return { library, pool, config };
  };

  const connect = async (pool: pg.Pool, signal: AbortSignal): Promise<pg.PoolClient> => {
    const connecting = pool.connect();
    try {
      return await orStopped(connecting, what, signal);
    } catch (thrown) {
      if (!signal.aborted) throw connectFailure(thrown, place);
      connecting.then(
        (client) => client.release(),
        () => undefined,
      );
      throw thrown;
    }
  };

  const runIn = async (
    { library }: Postgres,
    client: pg.PoolClient,
    { mode, statements, limits }: SqlRequest,
  ): Promise<readonly SqlResult[]> => {
    const all = async () => {
      const results: SqlResult[] = [];
      for (const statement of statements)
        results.push(await runStatement(library.Query, client, statement, limits, mode !== 'read'));
      return results;
    };
    if (mode === 'write') return all();
    await client.query(mode === 'read' ? 'BEGIN READ ONLY' : 'BEGIN');
    const results = await all();
    if (mode === 'transaction') await client.query('COMMIT');
    // What a statement has set for its session goes with it. A result that was cut has used the connection up.
    else if (!results.some(({ isCut }) => isCut)) await client.query(END_OF_READING);
    return results;
  };

  /** Ends the statement of a connection on the server, by way of another; then the connection. */
  const cancel = async ({ library, config }: Postgres, client: pg.PoolClient): Promise<void> => {
    const { processID } = client as unknown as { readonly processID: number };
    const messenger = new library.Client(config);
    messenger.on('error', () => undefined);
    try {
      await messenger.connect();
      await messenger.query('SELECT pg_cancel_backend($1)', [processID]);
    } finally {
      await messenger.end();
    }
  };

  return {
    dialect: 'postgres',
    where,
    async run(request, signal) {
      for (const { params } of request.statements)
        if (!Array.isArray(params))
          throw badParams(what, 'is an object', 'PostgreSQL has $1, $2 …: give a list.');
      const leave = await turnstile.enter(signal);
      try {
        if (isClosed) throw relicClosed(what);
        postgres ??= open();
        const opened = await postgres;
        const client = await connect(opened.pool, signal);
        const running = runIn(opened, client, request);
        let isSound = false;
        try {
          const results = await orStopped(running, what, signal);
          isSound = !(request.mode === 'read' && results.some(({ isCut }) => isCut));
          return results;
        } catch (thrown) {
          if (signal.aborted) {
            await endStatement(() => cancel(opened, client), running, clock);
            throw stopped(what, signal);
          }
          if (thrown === ROW_TOO_LARGE) throw rowTooLarge(what, request.limits.maxBytes);
          throw statementFailure(thrown, place, request.mode === 'read');
        } finally {
          // A connection on which something failed may be in the middle of a transaction, which its end rolls back.
          if (isSound && request.mode !== 'read') handBack(client, clock);
          else client.release(!isSound);
        }
      } finally {
        leave();
      }
    },
    async close() {
      isClosed = true;
      const opened = await postgres?.catch(() => undefined);
      await opened?.pool.end();
    },
  };
}

/**
 * What was written may have set something for its session (`set_config`, a role, a lock, a temporary table), which the
 * next call must not find. Nobody waits for it: what was written is written.
 */
function handBack(client: pg.PoolClient, clock: Clock): void {
  let isBack = false;
  const giveBack = (isSound: boolean) => {
    if (isBack) return;
    isBack = true;
    stopWaiting();
    client.release(!isSound);
  };
  const stopWaiting = clock.after(CANCEL_MS, () => giveBack(false));
  client.query('DISCARD ALL').then(
    () => giveBack(true),
    () => giveBack(false),
  );
}

/** Waits for the statement to end, or for its time to be over. A server that cannot be told is left to notice. */
async function endStatement(
  cancel: () => Promise<void>,
  running: Promise<unknown>,
  clock: Clock,
): Promise<void> {
  const ended = Promise.allSettled([running]);
  let stopWaiting = () => {};
  const patience = new Promise<void>((resolve) => {
    stopWaiting = clock.after(CANCEL_MS, resolve);
  });
  try {
    await Promise.race([
      cancel()
        .then(() => ended)
        .catch(() => undefined),
      patience,
    ]);
  } finally {
    stopWaiting();
  }
}

export interface PostgresPlace {
  readonly what: string;
  readonly where: string;
  /** Takes credentials out of a message. */
  readonly redact: (text: string) => string;
}

interface ServerError {
  readonly code: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
}

/** SQLSTATEs: five characters, unlike the codes of the system's errors. */
const isServerError = (thrown: unknown): thrown is ServerError =>
  thrown instanceof Error && /^[0-9A-Z]{5}$/.test(String((thrown as { code?: unknown }).code));

/** The transaction lost against another, or waited too long for a lock. */
const PASSING: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '53100', '53200', '53300']);
/** The server ends the connection, or is not ready for any. */
const GOING_AWAY = /^(?:08(?!P01)|57P)/;

const HINTS: Readonly<Record<string, string>> = {
  '25006': 'The operation "query" changes nothing; use "execute".',
  '22021': 'A text of PostgreSQL cannot hold a zero byte.',
};

/** Why there is no connection. A user or a database that is not known will not be known in a second either. */
function connectFailure(thrown: unknown, { what, where, redact }: PostgresPlace): RuntimeError {
  if (isServerError(thrown) && thrown.code.startsWith('28'))
    return relicUnavailable(what, where, `it refuses the user or the password (${thrown.code}).`, false);
  const isFinal = isServerError(thrown) && thrown.code.startsWith('3D');
  return relicUnavailable(what, where, redact(thrownMessage(thrown)), !isFinal);
}

/** Why a statement failed. */
function statementFailure(
  thrown: unknown,
  { what, where, redact }: PostgresPlace,
  mayRepeat: boolean,
): RuntimeError {
  if (!isServerError(thrown) || GOING_AWAY.test(thrown.code))
    return relicBrokeOff(what, where, redact(thrownMessage(thrown)), mayRepeat);
  const { code, message, detail, hint } = thrown;
  const isSeveral = code === '42601' && message.includes('multiple commands');
  return sqlRefused(what, {
    message: redact(`${message}${detail === undefined ? '' : `. ${detail}`} (${code})`),
    hint: isSeveral ? ONE_STATEMENT : (hint ?? HINTS[code]),
    retryable: PASSING.has(code),
  });
}

/** A field of a gigabyte would be read whole before anybody could refuse it. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

const ROW_TOO_LARGE = new Error('row too large');

/**
 * One statement on a connection. `mustFinish`: rows beyond the limits are thrown away as they come; else they end it,
 * and the connection cannot be used any more, which `isCut` says.
 */
function runStatement(
  Query: typeof pg.Query,
  client: pg.ClientBase,
  { sql, params }: SqlStatement,
  { maxRows, maxBytes }: SqlLimits,
  mustFinish: boolean,
): Promise<SqlResult> {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;
  const rows: JsonObject[] = [];
  let bytes = 0;
  let isCut = false;
  let sinceRow = 0;
  let failure: unknown;
  const meter = (chunk: Uint8Array) => {
    sinceRow += chunk.length;
    if (sinceRow > MAX_MESSAGE_BYTES) stop();
  };
  const stop = () => {
    failure = ROW_TOO_LARGE;
    stream.destroy();
  };
  const settled = new Promise<SqlResult>((resolve, reject) => {
    // `extended`: the server takes one statement only, and values beside it.
    const query = new Query({ text: sql, values: values(params), queryMode: 'extended' } as pg.QueryConfig);
    query.on('row', (row: JsonObject) => {
      sinceRow = 0;
      if (isCut || failure !== undefined) return;
      const size = Buffer.byteLength(JSON.stringify(row));
      if (size > maxBytes && !mustFinish) failure = ROW_TOO_LARGE;
      isCut = rows.length >= maxRows || bytes + size > maxBytes;
      if (isCut && !mustFinish) {
        if (failure === undefined) resolve({ rows, isCut, affected: rows.length });
        else reject(failure);
      }
      if (isCut) return;
      rows.push(row);
      bytes += size;
    });
    query.on('end', (result) => {
      if (failure === undefined) resolve({ rows, isCut, affected: result.rowCount ?? 0 });
      else reject(failure);
    });
    query.on('error', (error) => reject(failure ?? error));
    stream.prependListener('data', meter);
    client.query(query);
  });
  return settled.finally(() => stream.off('data', meter));
}

/** An object is sent as JSON, a list as one of PostgreSQL's. */
const values = (params: SqlStatement['params']): Json[] =>
  (params as readonly Json[]).map((value) => (isMap(value) ? JSON.stringify(value) : value));

/** What a type's text, as the server writes it, is in JSON. */
type PostgresDatabaseRead = (text: string) => Json;

/** Digits that a number of JSON keeps whoever reads it. */
const SAFE_DIGITS = 15;

/** A whole number beyond 2^53 stays text. */
const whole: PostgresDatabaseRead = (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text);

/** A decimal with more digits than a number keeps stays text, and so do NaN and the infinities. */
const decimal: PostgresDatabaseRead = (text) => {
  const digits = text.replace(/^-?0*|\.|0+$/g, '').length;
  return /^-?\d+(?:\.\d+)?$/.test(text) && digits <= SAFE_DIGITS ? Number(text) : text;
};

const float: PostgresDatabaseRead = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);

/** As ISO 8601 has it, to the microsecond: `2026-01-02T03:04:05.678901+01:00`. */
const moment: PostgresDatabaseRead = (text) =>
  text
    .replace(/^(\d{4,}-\d\d-\d\d) /, '$1T')
    .replace(/([+-]\d\d)(:\d\d)?$/, (_, hours, minutes) => hours + (minutes ?? ':00'));
const localMoment: PostgresDatabaseRead = (text) => text.replace(/^(\d{4,}-\d\d-\d\d) /, '$1T');

/** `\x…` as base64. */
const bytes: PostgresDatabaseRead = (text) =>
  text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex').toString('base64') : text;

const json: PostgresDatabaseRead = (text) => JSON.parse(text) as Json;
const asIs: PostgresDatabaseRead = (text) => text;

/** By the type's number, and that of its lists. */
const TYPES: readonly (readonly [oid: number, list: number, read: PostgresDatabaseRead])[] = [
  [16, 1000, (text) => text === 't' || text === 'true'],
  [17, 1001, bytes],
  [20, 1016, whole],
  [21, 1005, whole],
  [23, 1007, whole],
  [26, 1028, whole],
  [700, 1021, float],
  [701, 1022, float],
  [1700, 1231, decimal],
  [1114, 1115, localMoment],
  [1184, 1185, moment],
  [114, 199, json],
  [3802, 3807, json],
  // text, varchar, char, name, uuid, date, time, timetz, interval, inet
  [25, 1009, asIs],
  [1043, 1015, asIs],
  [1042, 1014, asIs],
  [19, 1003, asIs],
  [2950, 2951, asIs],
  [1082, 1182, asIs],
  [1083, 1183, asIs],
  [1266, 1270, asIs],
  [1186, 1187, asIs],
  [869, 1041, asIs],
];

/** The type of texts, whose parser of lists reads those of every type. */
const TEXT_LIST = 1009;

/** `readList` takes a list apart into texts and nulls, lists in lists included. All other types stay text. */
function typeReaders(readList: (text: string) => unknown): (oid: number) => PostgresDatabaseRead {
  const readers = new Map<number, PostgresDatabaseRead>();
  for (const [oid, list, read] of TYPES) {
    readers.set(oid, read);
    readers.set(list, (text) => deep(readList(text), read));
  }
  return (oid) => readers.get(oid) ?? asIs;
}

function deep(value: unknown, read: PostgresDatabaseRead): Json {
  if (Array.isArray(value)) return value.map((each: unknown) => deep(each, read));
  return value === null || value === undefined ? null : read(String(value));
}
