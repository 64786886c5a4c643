import type { Socket } from 'node:net';
import type pg from 'pg';
import type { Clock } from '../../../../lib/clock.ts';
import type { RuntimeError } from '../../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../../lib/json.ts';
import { isMap } from '../../../../manifest/schema/plain-values.ts';
import { abortError, orAborted } from '../../../abort.ts';
import { thrownMessage } from '../../../output/output.ts';
import {
  badConnection,
  redactor,
  relicBrokeOff,
  relicClosed,
  relicUnavailable,
  shownAddress,
} from '../../relic-driver.ts';
import type { SqlDatabase, SqlLimits, SqlRequest, SqlResult, SqlStatement } from '../sql-database.ts';
import { badParams, createCallLimiter, ONE_STATEMENT, rowTooLarge, sqlRefused } from '../sql-database.ts';

export interface PostgresDeps {
  readonly what: string;
  readonly file: string;
  readonly url: string;
  /** The most connections that may be open. */
  readonly size: number;
  readonly clock: Clock;
}

const CONNECT_MS = 5_000;
const IDLE_MS = 30_000;
/** How long a cancelled statement may take to end before its connection is closed. */
const CANCEL_MS = 3_000;
/** Ending the transaction undoes everything it has set, except for session locks. */
const END_OF_READING = 'ROLLBACK; SELECT pg_advisory_unlock_all()';

interface Postgres {
  readonly library: typeof pg;
  readonly pool: pg.Pool;
  readonly config: pg.ClientConfig;
}

/** A PostgreSQL server with a small pool of connections, each opened when it is needed. */
export function createPostgresDatabase({ what, file, url, size, clock }: PostgresDeps): SqlDatabase {
  if (!URL.canParse(url))
    throw badConnection(
      what,
      file,
      'is not a valid postgres:// URL',
      'Write it like postgres://USER:PASSWORD@HOST:5432/DATABASE. Percent-encode special characters in the password.',
    );
  const where = shownAddress(url);
  const place = { what, where, redact: redactor(url) };
  const limiter = createCallLimiter(what, size);
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
    // Each statement reports its own broken connection, and the pool replaces one that breaks while idle.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    return { library, pool, config };
  };

  const connect = async (pool: pg.Pool, signal: AbortSignal): Promise<pg.PoolClient> => {
    const connecting = pool.connect();
    try {
      return await orAborted(connecting, what, signal);
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
    // Clear whatever a statement has set for its session. After a truncated result the connection is not reused anyway.
    else if (!results.some(({ isTruncated: isCut }) => isCut)) await client.query(END_OF_READING);
    return results;
  };

  /** Cancels the statement of a connection on the server, through another connection. */
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
          throw badParams(what, 'is an object', 'PostgreSQL uses $1, $2 …, so give a list.');
      const leave = await limiter.acquire(signal);
      try {
        if (isClosed) throw relicClosed(what);
        postgres ??= open();
        const opened = await postgres;
        const client = await connect(opened.pool, signal);
        const running = runIn(opened, client, request);
        let isSound = false;
        try {
          const results = await orAborted(running, what, signal);
          isSound = !(request.mode === 'read' && results.some(({ isTruncated: isCut }) => isCut));
          return results;
        } catch (thrown) {
          if (signal.aborted) {
            await endStatement(() => cancel(opened, client), running, clock);
            throw abortError(what, signal);
          }
          if (thrown === ROW_TOO_LARGE) throw rowTooLarge(what, request.limits.maxBytes);
          throw statementFailure(thrown, place, request.mode === 'read');
        } finally {
          // A failed connection may be inside a transaction. Closing it rolls the transaction back.
          if (isSound && request.mode !== 'read') resetAndRelease(client, clock);
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
 * Cleans a connection before it is reused. A write may have set something for its session (`set_config`, a role, a
 * lock, a temporary table) that the next call must not see. Nobody waits for this, because the write is done.
 */
function resetAndRelease(client: pg.PoolClient, clock: Clock): void {
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

/**
 * Waits until the statement has ended or the grace period is over. If the server cannot be reached, it will notice the
 * closed connection.
 */
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

export interface PostgresErrorContext {
  readonly what: string;
  readonly where: string;
  /** Removes credentials from a message. */
  readonly redact: (text: string) => string;
}

interface ServerError {
  readonly code: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
}

/** SQLSTATE codes have five characters, unlike the error codes of the system. */
const isServerError = (thrown: unknown): thrown is ServerError =>
  thrown instanceof Error && /^[0-9A-Z]{5}$/.test(String((thrown as { code?: unknown }).code));

/** The transaction lost against another one, or waited too long for a lock. */
const TRANSIENT: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '53100', '53200', '53300']);
/** The server ends the connection, or does not accept any yet. */
const GOING_AWAY = /^(?:08(?!P01)|57P)/;

const HINTS: Readonly<Record<string, string>> = {
  '25006': 'The operation "query" cannot change anything. Use "execute".',
  '22021': 'Text in PostgreSQL cannot contain a zero byte.',
};

/** Explains a failed connection. An unknown user or database is final, so it is not retried. */
function connectFailure(thrown: unknown, { what, where, redact }: PostgresErrorContext): RuntimeError {
  if (isServerError(thrown) && thrown.code.startsWith('28'))
    return relicUnavailable(what, where, `it refuses the user or the password (${thrown.code}).`, false);
  const isFinal = isServerError(thrown) && thrown.code.startsWith('3D');
  return relicUnavailable(what, where, redact(thrownMessage(thrown)), !isFinal);
}

/** Explains a failed statement. */
function statementFailure(
  thrown: unknown,
  { what, where, redact }: PostgresErrorContext,
  mayRepeat: boolean,
): RuntimeError {
  if (!isServerError(thrown) || GOING_AWAY.test(thrown.code))
    return relicBrokeOff(what, where, redact(thrownMessage(thrown)), mayRepeat);
  const { code, message, detail, hint } = thrown;
  const isSeveral = code === '42601' && message.includes('multiple commands');
  return sqlRefused(what, {
    message: redact(`${message}${detail === undefined ? '' : `. ${detail}`} (${code})`),
    hint: isSeveral ? ONE_STATEMENT : (hint ?? HINTS[code]),
    retryable: TRANSIENT.has(code),
  });
}

/** A larger message would be read into memory as a whole before anything could refuse it. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

const ROW_TOO_LARGE = new Error('row too large');

/**
 * Runs one statement on a connection. With `mustFinish`, rows beyond the limits are dropped as they arrive. Without it,
 * the first one ends the statement, `isCut` is true, and the connection cannot be used any more.
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
    // In `extended` mode the server accepts one statement only, with separate values.
    const query = new Query({ text: sql, values: values(params), queryMode: 'extended' } as pg.QueryConfig);
    query.on('row', (row: JsonObject) => {
      sinceRow = 0;
      if (isCut || failure !== undefined) return;
      const size = Buffer.byteLength(JSON.stringify(row));
      if (size > maxBytes && !mustFinish) failure = ROW_TOO_LARGE;
      isCut = rows.length >= maxRows || bytes + size > maxBytes;
      if (isCut && !mustFinish) {
        if (failure === undefined) resolve({ rows, isTruncated: isCut, affected: rows.length });
        else reject(failure);
      }
      if (isCut) return;
      rows.push(row);
      bytes += size;
    });
    query.on('end', (result) => {
      if (failure === undefined) resolve({ rows, isTruncated: isCut, affected: result.rowCount ?? 0 });
      else reject(failure);
    });
    query.on('error', (error) => reject(failure ?? error));
    stream.prependListener('data', meter);
    client.query(query);
  });
  return settled.finally(() => stream.off('data', meter));
}

/** An object is sent as JSON, a list as a PostgreSQL array. */
const values = (params: SqlStatement['params']): Json[] =>
  (params as readonly Json[]).map((value) => (isMap(value) ? JSON.stringify(value) : value));

/** Converts the server's text of a value to JSON. */
type ParsePostgresValue = (text: string) => Json;

/** The number of digits that every JSON reader preserves. */
const SAFE_DIGITS = 15;

/** A whole number beyond 2^53 stays text. */
const whole: ParsePostgresValue = (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text);

/** A decimal with too many digits for a number stays text, and so do NaN and the infinities. */
const decimal: ParsePostgresValue = (text) => {
  const digits = text.replace(/^-?0*|\.|0+$/g, '').length;
  return /^-?\d+(?:\.\d+)?$/.test(text) && digits <= SAFE_DIGITS ? Number(text) : text;
};

const float: ParsePostgresValue = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);

/** ISO 8601 to the microsecond: `2026-01-02T03:04:05.678901+01:00`. */
const moment: ParsePostgresValue = (text) =>
  text
    .replace(/^(\d{4,}-\d\d-\d\d) /, '$1T')
    .replace(/([+-]\d\d)(:\d\d)?$/, (_, hours, minutes) => hours + (minutes ?? ':00'));
const localMoment: ParsePostgresValue = (text) => text.replace(/^(\d{4,}-\d\d-\d\d) /, '$1T');

/** Converts `\x…` to base64. */
const bytes: ParsePostgresValue = (text) =>
  text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex').toString('base64') : text;

const json: ParsePostgresValue = (text) => JSON.parse(text) as Json;
const asIs: ParsePostgresValue = (text) => text;

/** By the object id of the type and of its array type. */
const TYPES: readonly (readonly [oid: number, list: number, read: ParsePostgresValue])[] = [
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

/** The array type of text. Its parser splits arrays of every type. */
const TEXT_LIST = 1009;

/** `readList` splits an array, also a nested one, into texts and nulls. All other types stay text. */
function typeReaders(readList: (text: string) => unknown): (oid: number) => ParsePostgresValue {
  const readers = new Map<number, ParsePostgresValue>();
  for (const [oid, list, read] of TYPES) {
    readers.set(oid, read);
    readers.set(list, (text) => readNested(readList(text), read));
  }
  return (oid) => readers.get(oid) ?? asIs;
}

function readNested(value: unknown, read: ParsePostgresValue): Json {
  if (Array.isArray(value)) return value.map((each: unknown) => readNested(each, read));
  return value === null || value === undefined ? null : read(String(value));
}
