import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { recordedIo } from './recorded-io.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
}, 60_000);
afterAll(() => database.remove());

const COMMANDS: readonly (readonly string[])[] = [
  ['store', 'check'],
  ['store', 'info'],
  ['store', 'export', 'out.jsonl'],
  ['sessions'],
  ['show', 'last'],
  ['logs', 'last'],
  ['fleet'],
  ['reviews'],
  ['workflow', 'list'],
  ['token', 'list'],
  ['cancel', 'last'],
  ['why', 'last', '1'],
  ['replay', 'last'],
  ['fork', 'last', '1'],
  ['steer', 'last', 'Stop'],
  ['resume', 'last'],
  ['workflow', 'resume', 'last'],
  ['memory', 'stats'],
  ['memory', 'query', 'anything'],
];

it('commands that only look at a database without a store say so, and make none', async () => {
  for (const command of COMMANDS) {
    const io = recordedIo();
    expect([command, await main([...command, '--store', database.url], io)]).toEqual([command, 1]);
    expect(io.err()).toContain('There is no store in schema "telltale" of');
    expect(io.err()).toContain('It is made by the first command that runs something on it.');
  }
  expect(await schemas()).toEqual([]);
});

it('doctor says of such a database that sessions will be kept there, and makes nothing in it', async () => {
  const io = recordedIo({ env: { TELLTALE_STORE: database.url } });
  await main(['doctor'], io);
  expect(io.out()).toMatch(/Sessions\s+will be kept in postgres.*, which answers/);
  expect(await schemas()).toEqual([]);
});

it('doctor says of a database that is not there that it is not there', async () => {
  const url = new URL(database.url);
  url.pathname = '/nowhere';
  const io = recordedIo({ env: { TELLTALE_STORE: url.href } });
  expect(await main(['doctor'], io)).toBe(1);
  expect(io.out()).toContain('There is no such database');
});

async function schemas(): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'telltale%'");
  await client.end();
  return rows;
}
