import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { PostgresStoreOptions } from '../../src/store/postgres/open-postgres-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import type { SharedStore } from '../../src/store/shared-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { PATIENT } from './eventually.ts';

export type SharedByAll = Store & { readonly shared: SharedStore };

/** A database of one's own, with a schema for each test. */
export interface PostgresHome {
  /** Of this test's schema. */
  readonly url: string;
  readonly schema: string;
  open(options?: Partial<PostgresStoreOptions>): Promise<SharedByAll>;
  /** Asks the database behind the stores' backs. `{S}` stands for the schema. */
  sql(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Closes the stores, and takes another schema. */
  next(): Promise<void>;
  remove(): Promise<void>;
}

/** For the tests of a file, each of which has a schema of its own; given before the first of them. */
export function useHome(given: (home: PostgresHome) => void): void {
  let home: PostgresHome;
  beforeAll(async () => {
    home = await postgresHome();
    given(home);
  }, PATIENT.timeout);
  afterEach(() => home.next());
  afterAll(() => home.remove());
}

export async function postgresHome(): Promise<PostgresHome> {
  const database: TestDatabase = await testDatabase();
  const client = new pg.Client({ connectionString: database.url });
  client.on('error', () => undefined);
  await client.connect();
  let schema = '';
  let stores: Store[] = [];
  const next = async () => {
    const before = stores;
    stores = [];
    await Promise.all(before.map((store) => store.close().catch(() => undefined)));
    schema = `s_${randomUUID().slice(0, 8)}`;
  };
  await next();
  const urlOf = () => `${database.url}?schema=${schema}`;
  return {
    get url() {
      return urlOf();
    },
    get schema() {
      return schema;
    },
    async open(options = {}) {
      const store = await openPostgresStore({
        url: urlOf(),
        clock: createSystemClock(),
        pid: process.pid,
        durability: 'process',
        graphs: 'none of these tests opens it',
        ...options,
      });
      stores.push(store);
      return store as SharedByAll;
    },
    sql: async (text, values = []) =>
      (await client.query(text.replaceAll('{S}', `"${schema}"`), [...values])).rows,
    next,
    async remove() {
      await next();
      await client.end();
      await database.remove();
    },
  };
}
