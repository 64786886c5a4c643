import type pg from 'pg';
import type { Clock } from '../../../../kernel/clock.ts';
import { orStopped, stopped } from '../../../access/stopped.ts';
import { badConnection, redactor, shownAddress } from '../../read-connection.ts';
import { relicClosed } from '../../relic-errors.ts';
import type { SqlDatabase, SqlRequest, SqlResult } from '../sql-database.ts';
import { badParams, rowTooLarge } from '../sql-errors.ts';
import { createTurnstile } from '../turnstile.ts';
import { connectFailure, statementFailure } from './postgres-failure.ts';
import { TEXT_LIST, typeReaders } from './postgres-types.ts';
import { ROW_TOO_LARGE, runStatement } from './run-statement.ts';

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
