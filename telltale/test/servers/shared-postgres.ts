import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { askBroker } from './server-broker.ts';

export interface TestDatabase {
  readonly url: string;
  remove(): Promise<void>;
}

/** A new database on the run's PostgreSQL. The first one of a run takes two seconds. */
export async function testDatabase(): Promise<TestDatabase> {
  const owner = await askBroker(inject('serverBroker'));
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const asOwner = async (sql: string) => {
    const client = new pg.Client({ connectionString: owner });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  await asOwner(`CREATE DATABASE ${name}`);
  const url = new URL(owner);
  url.pathname = `/${name}`;
  return { url: url.href, remove: () => asOwner(`DROP DATABASE ${name} WITH (FORCE)`) };
}
