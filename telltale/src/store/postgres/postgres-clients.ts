import type { Client, ClientConfig, Pool } from 'pg';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import { describePostgresFailure } from './describe-postgres-failure.ts';
import type { PostgresAddress } from './postgres-address.ts';

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
