import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { freePort } from '../servers/free-port.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { PATIENT } from '../store/eventually.ts';
import { type TemporaryFolder, temporaryFolder } from '../store/temporary-folder.ts';
import { type AgentTargets, agentTargets } from './agent-targets.ts';
import { sqlContract } from './sql-contract.ts';

let database: TestDatabase;
let watcher: pg.Client;
let shared: AgentTargets;
let folder: TemporaryFolder;

beforeAll(async () => {
  database = await testDatabase();
  watcher = new pg.Client({ connectionString: database.url });
  await watcher.connect();
  folder = await temporaryFolder();
  shared = await agentTargets({ ...relic(database.url), folder: folder.path('.') });
}, PATIENT.timeout);
beforeEach(() => watcher.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public').then(() => undefined));
afterAll(async () => {
  await shared?.table.close();
  await folder?.remove();
  await watcher?.end();
  await database?.remove();
});

const relic = (url: string, more = '') => ({
  agent: 'import: { relics: [./db.yml] }',
  files: { 'db.yml': `kind: Relic\nname: db\ndriver: sql\nconnection: { url: "${url}", ${more} }\n` },
});
const openAt = async (url: string, more = ''): Promise<AgentTargets> => {
  const targets = await agentTargets(relic(url, more));
  onTestFinished(() => targets.table.close());
  return targets;
};
const open = (more = '') => openAt(database.url, more);
const rowsOf = async (targets: AgentTargets, sql: string, params: readonly string[] = []) =>
  ((await targets.call('db', { sql, params })) as { rows: JsonObject[] }).rows;

describe('a sql relic on PostgreSQL', PATIENT, () => {
  sqlContract({
    open,
    shared: () => shared,
    place: (n) => `$${n}`,
    serial: 'serial PRIMARY KEY',
    endless: 'SELECT pg_sleep(3600)',
    async isRunning() {
      const { rows } = await watcher.query(
        "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(3600)%' AND state = 'active' AND pid <> pg_backend_pid()",
      );
      return rows.length > 0;
    },
  });

  test('every type comes as JSON', async () => {
    const [row] = await rowsOf(
      await open(),
      `SELECT 7::int2 AS small, 12345678901::int8 AS big, 9223372036854775807::int8 AS huge,
        12.50::numeric AS price, 0.1::numeric AS tenth, 123456789012345.678901234::numeric AS long, 'NaN'::numeric AS nan,
        1.5::float8 AS float, 'Infinity'::float8 AS infinite, true AS yes, NULL AS nothing,
        '2026-01-02 03:04:05.678901+01'::timestamptz AS moment, '2026-01-02 03:04:05'::timestamp AS local,
        'infinity'::timestamptz AS never, '2026-01-02'::date AS day, '03:04'::time AS hour, '1 day 2 hours'::interval AS span,
        '\\xdeadbeef'::bytea AS bytes, '{"a": [1, null]}'::jsonb AS doc, 'null'::json AS json_null,
        'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS id, '[1,5)'::int4range AS range`,
    );
    expect(row).toEqual({
      small: 7,
      big: 12345678901,
      huge: '9223372036854775807',
      price: 12.5,
      tenth: 0.1,
      long: '123456789012345.678901234',
      nan: 'NaN',
      float: 1.5,
      infinite: 'Infinity',
      yes: true,
      nothing: null,
      moment: '2026-01-02T02:04:05.678901+00:00',
      local: '2026-01-02T03:04:05',
      never: 'infinity',
      day: '2026-01-02',
      hour: '03:04:00',
      span: '1 day 02:00:00',
      bytes: '3q2+7w==',
      doc: { a: [1, null] },
      json_null: null,
      id: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
      range: '[1,5)',
    });
  });

  test('lists come as lists, in lists too', async () => {
    const [row] = await rowsOf(
      await open(),
      `SELECT ARRAY[1, NULL, 9007199254740993]::int8[] AS numbers, ARRAY[ARRAY['a"b', 'c,d'], ARRAY['', 'NULL']] AS texts,
        ARRAY['\\x00ff'::bytea] AS bytes, ARRAY['{"a":1}'::jsonb] AS docs, '{}'::text[] AS none`,
    );
    expect(row).toEqual({
      numbers: [1, null, '9007199254740993'],
      texts: [
        ['a"b', 'c,d'],
        ['', 'NULL'],
      ],
      bytes: ['AP8='],
      docs: [{ a: 1 }],
      none: [],
    });
  });

  test('a list is a list of PostgreSQL, an object is JSON', async () => {
    const { call } = await open();
    expect(
      await call('db', {
        sql: 'SELECT 2 = ANY($1::int[]) AS found, $2::jsonb AS doc, $3::text[] AS texts, $4::boolean AS yes',
        params: [[1, 2], { a: ["it's", null, { b: true }] }, ['a"b\\', '{c,d}', null], true],
      }),
    ).toEqual({
      rows: [
        { found: true, doc: { a: ["it's", null, { b: true }] }, texts: ['a"b\\', '{c,d}', null], yes: true },
      ],
    });
  });

  test('a text with a zero byte is refused, and so is an object of parameters', async () => {
    const { failure } = await open();
    expect(await failure('db', { sql: 'SELECT $1::text AS t', params: ['a\0b'] })).toMatchObject({
      code: 'sql_error',
      hint: expect.stringContaining('zero byte'),
    });
    expect((await failure('db', { sql: 'SELECT $1::int', params: { a: 1 } })).code).toBe('bad_parameters');
  });

  test('what a query sets is gone with it', async () => {
    const targets = await open('pool: 1');
    await rowsOf(targets, "SELECT set_config('work_mem', '77MB', false)");
    expect(await rowsOf(targets, "SELECT current_setting('work_mem') AS m")).not.toEqual([{ m: '77MB' }]);
    expect(await targets.failure('db', { operation: 'execute', sql: "SET work_mem = '77MB'" })).toMatchObject(
      {
        code: 'sql_error',
      },
    );
  });

  test('what an execute or a transaction sets is gone with it', async () => {
    const targets = await open('pool: 1');
    const setting = "SELECT set_config('search_path', 'elsewhere', false), pg_advisory_lock(7)";
    const fresh = async () => {
      expect(await rowsOf(targets, 'SHOW search_path')).not.toEqual([{ search_path: 'elsewhere' }]);
      const locks = "SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory'";
      expect(await rowsOf(targets, locks)).toEqual([{ n: 0 }]);
    };
    await targets.call('db', { operation: 'execute', sql: setting });
    await fresh();
    await targets.call('db', { operation: 'transaction', statements: [{ sql: setting }] });
    await fresh();
    await rowsOf(targets, setting);
    await fresh();
    await targets.call('db', { operation: 'execute', sql: 'CREATE TEMP TABLE own AS SELECT 1' });
    expect((await targets.failure('db', { sql: 'SELECT * FROM own' })).message).toContain('does not exist');
  });

  test('a query runs no program of statements: that could write files', async () => {
    const sql = "DO $$ BEGIN COPY (SELECT 'x') TO PROGRAM 'cat > /dev/null'; END $$";
    const error = await (await open()).failure('db', { sql });
    expect([error.code, error.message]).toEqual(['sql_error', expect.stringContaining('begins with DO')]);
  });

  test('calls share a few connections, and more of them wait', async () => {
    const targets = await open('pool: 2');
    const found = await Promise.all(
      Array.from({ length: 12 }, () => rowsOf(targets, 'SELECT pg_backend_pid() AS pid, pg_sleep(0.01)')),
    );
    expect(new Set(found.map(([row]) => row?.pid)).size).toBe(2);
  });

  test('a field of a hundred megabytes is refused, not read', async () => {
    const { failure, call } = await open();
    expect(await failure('db', { sql: "SELECT repeat('x', 100000000) AS t" })).toMatchObject({
      code: 'output_too_large',
    });
    expect(await call('db', { sql: 'SELECT 1 AS n' })).toEqual({ rows: [{ n: 1 }] });
  });

  test('a result without an end is cut, and its statement ends', async () => {
    const targets = await open();
    expect(
      await targets.call('db', {
        sql: 'SELECT a AS n FROM generate_series(1, 9999) a, generate_series(1, 9999)',
        limit: 2,
      }),
    ).toMatchObject({ rows: [{ n: 1 }, {}], truncated: expect.any(String) });
    expect(await rowsOf(targets, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  test('a connection that breaks under a call says whether to make it again, and the next call has another', async () => {
    const targets = await open();
    const breakOff = async (input: JsonObject) => {
      let isOver = false;
      const failed = targets.failure('db', input).finally(() => {
        isOver = true;
      });
      // Until it has failed: the one before may still be listed as it ends, and be what was found.
      while (!isOver)
        await watcher.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(3599)%' AND state = 'active' AND pid <> pg_backend_pid()",
        );
      return failed;
    };
    const sql = 'SELECT pg_sleep(3599)';
    expect(await breakOff({ sql })).toMatchObject({ code: 'relic_unavailable', retryable: true });
    expect(await breakOff({ operation: 'execute', sql })).toMatchObject({
      code: 'relic_unavailable',
      retryable: false,
      hint: expect.stringContaining('is unknown'),
    });
    expect(await rowsOf(targets, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  test('an idle connection that breaks is replaced', async () => {
    const targets = await open('pool: 1');
    await rowsOf(targets, 'SELECT 1');
    await watcher.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'telltale' AND datname = current_database()",
    );
    // It may be noticed before the next call, or by it.
    const found = await rowsOf(targets, 'SELECT 1 AS n').catch(() => rowsOf(targets, 'SELECT 1 AS n'));
    expect(found).toEqual([{ n: 1 }]);
  });

  test('its health says the version', async () => {
    const { call } = await open();
    const { host, pathname } = new URL(database.url);
    expect(await call('db', { operation: 'health' })).toEqual({
      ok: true,
      driver: 'sql',
      where: `postgres://${host}${pathname}`,
      latency_ms: expect.any(Number),
      dialect: 'postgres',
      version: expect.stringMatching(/^\d+/),
    });
  });
});

describe('a PostgreSQL that cannot be had', PATIENT, () => {
  const changed = (change: (url: URL) => void): string => {
    const url = new URL(database.url);
    change(url);
    return url.href;
  };
  const answers = async (url: string) => {
    const { call, failure } = await openAt(url);
    const error = await failure('db', { sql: 'SELECT 1' });
    const health = (await call('db', { operation: 'health' })) as JsonObject;
    expect(health).toMatchObject({ ok: false, error: { code: error.code, message: error.message } });
    const shown = JSON.stringify([error, health]) + String(error.stack);
    for (const secret of ['hunter2', 'pass/word', 'pass%2Fword', 'owner'])
      expect(shown).not.toContain(secret);
    return error;
  };

  test('nobody listens: at once, and worth another try', async () => {
    const port = await freePort();
    expect(
      await answers(
        changed((url) => {
          url.port = String(port);
        }),
      ),
    ).toMatchObject({
      code: 'relic_unavailable',
      retryable: true,
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('a wrong password, and a database that is not there: not worth one', async () => {
    const wrong = changed((url) => {
      url.password = 'hunter2';
    });
    expect(await answers(wrong)).toMatchObject({ code: 'relic_unavailable', retryable: false });
    const nowhere = changed((url) => {
      url.pathname = '/nowhere';
    });
    expect(await answers(nowhere)).toMatchObject({
      code: 'relic_unavailable',
      retryable: false,
      message: expect.stringContaining('nowhere'),
    });
  });
});
