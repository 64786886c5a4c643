import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createConnection } from 'node:net';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventually, PATIENT } from '../store/eventually.ts';
import { findProgram, postgresFolders } from './find-program.ts';
import { needsRedis } from './needs-redis.ts';
import { askBroker, openServerBroker } from './server-broker.ts';
import { testDatabase } from './shared-postgres.ts';
import { startPostgres } from './start-postgres.ts';
import { startRedis } from './start-redis.ts';

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('the PostgreSQL of npm runs, as another user where this one is root', PATIENT, async () => {
  const server = await startPostgres({ from: 'embedded' });
  onTestFinished(() => server.stop());
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query("SELECT current_setting('server_version_num')::int AS version");
  await client.end();
  expect(rows[0].version).toBeGreaterThanOrEqual(140_000);
  expect(server.bin).toContain('native/bin');
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
  expect(existsSync(server.bin)).toBe(false);
});

test('a PostgreSQL can be restarted, as if it crashed too, and has what was committed', PATIENT, async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const ask = async (sql: string) => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    const { rows } = await client.query(sql);
    await client.end();
    return rows;
  };
  await ask('CREATE TABLE kept (n int)');
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    await ask('INSERT INTO kept VALUES (1)');
    await server.restart(signal);
  }
  expect(await ask('SELECT n FROM kept')).toHaveLength(2);
});

test('a run has one PostgreSQL, and each caller a database of its own', PATIENT, async () => {
  const [a, b] = await Promise.all([testDatabase(), testDatabase()]);
  expect(new URL(a.url).host).toBe(new URL(b.url).host);
  expect(new URL(a.url).pathname).not.toBe(new URL(b.url).pathname);
  await Promise.all([a.remove(), b.remove()]);
});

test('nothing is started while nobody asks', async () => {
  const broker = await openServerBroker();
  await broker.close();
  await expect(askBroker(broker.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

describe('Redis', () => {
  needsRedis();

  test('a Redis can be stopped by its pid and started again on its port', PATIENT, async () => {
    const first = await startRedis();
    process.kill(first.pid, 'SIGKILL');
    await eventually(() => expect(isAlive(first.pid)).toBe(false));
    const second = await startRedis({ port: first.port });
    onTestFinished(() => second.stop());
    expect(second.url).toBe(first.url);
    await first.stop();
  });

  test('a server ends with the process that started it, even if that is killed', PATIENT, async () => {
    const script = fileURLToPath(new URL('./fixtures/start-and-wait.ts', import.meta.url));
    const runner = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    runner.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const [pid = 0, port = 0] = await eventually(() => {
      expect(said).toContain('\n');
      return said.trim().split(' ').map(Number);
    });
    expect(isAlive(pid)).toBe(true);
    runner.kill('SIGKILL');
    await eventually(() => expect(isAlive(pid)).toBe(false));
    await expect(
      new Promise((resolve, reject) => {
        createConnection(port, '127.0.0.1').on('connect', resolve).on('error', reject);
      }),
    ).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

test('a program is found in PATH, and what is nowhere is not', () => {
  expect(findProgram('sh')).toMatch(/^\//);
  expect(findProgram('no-such-program-anywhere')).toBeUndefined();
  expect(findProgram('sh', ['/nowhere'])).toBeDefined();
  for (const folder of postgresFolders()) expect(folder).toMatch(/postgresql\/\d+\/bin$/);
});
