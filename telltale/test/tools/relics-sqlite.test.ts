import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { bindParams, placeholders } from '../../src/tools/relics/sql/sqlite/serve-sqlite.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { moreRuns } from '../more-runs.ts';
import { eventually, PATIENT } from '../store/eventually.ts';
import { type TemporaryFolder, temporaryFolder } from '../store/temporary-folder.ts';
import { type AgentTargets, agentTargets } from './agent-targets.ts';
import { sqlContract } from './sql-contract.ts';

const relic = (more = '', url = 'sqlite:./data.db', agent = '') => ({
  agent: `import: { relics: [./db.yml] }\n${agent}`,
  files: { 'db.yml': `kind: Relic\nname: db\ndriver: sql\nconnection: { url: "${url}", ${more} }\n` },
});
let folder: TemporaryFolder;
let shared: AgentTargets;
beforeAll(async () => {
  folder = await temporaryFolder();
  shared = await agentTargets({ ...relic(), folder: folder.path('.') });
});
afterAll(async () => {
  await shared.table.close();
  await folder.remove();
});

const open = async (...given: Parameters<typeof relic>): Promise<AgentTargets> => {
  const targets = await agentTargets(relic(...given));
  onTestFinished(() => targets.table.close());
  return targets;
};

const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c';

describe('a sql relic on a SQLite file', PATIENT, () => {
  sqlContract({
    open,
    shared: () => shared,
    place: (n) => `?${n}`,
    serial: 'INTEGER PRIMARY KEY',
    endless: ENDLESS,
    isRunning: async () => (await childrenBusy()) > 0,
  });

  test('nothing is opened before the first call', async () => {
    const { folder, call } = await open();
    expect(existsSync(join(folder, 'data.db'))).toBe(false);
    await call('db', { sql: 'SELECT 1' });
    expect(existsSync(join(folder, 'data.db'))).toBe(true);
  });

  test('a statement that takes for ever does not hold up this process', async () => {
    const { failure } = await open();
    const controller = new AbortController();
    const failed = failure('db', { sql: ENDLESS }, { signal: controller.signal });
    await eventually(async () => expect(await childrenBusy()).toBeGreaterThan(0));
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 1);
    await eventually(() => expect(ticks).toBeGreaterThan(20));
    clearInterval(ticking);
    controller.abort();
    expect(await failed).toMatchObject({ code: 'cancelled' });
  });

  test('every type comes as JSON', async () => {
    const { call } = shared;
    expect(
      await call('db', {
        sql: `SELECT 1 AS one, 9223372036854775807 AS huge, -9007199254740993 AS low, 1.5 AS part, 9e999 AS infinite,
          'text' AS text, x'deadbeef' AS bytes, x'' AS none, NULL AS nil, json('[1]') AS json, 1 = 1 AS yes`,
      }),
    ).toEqual({
      rows: [
        {
          one: 1,
          huge: '9223372036854775807',
          low: '-9007199254740993',
          part: 1.5,
          infinite: 'Infinity',
          text: 'text',
          bytes: '3q2+7w==',
          none: '',
          nil: null,
          json: '[1]',
          yes: 1,
        },
      ],
    });
  });

  test('a whole number is bound as one, truth as 1 and 0, lists and objects as JSON', async () => {
    const { call } = shared;
    const { rows } = (await call('db', {
      sql: "SELECT typeof(?) AS a, ? || '' AS b, typeof(?) AS c, ? AS d, ? AS e, json_extract(?, '$.x[1]') AS f, typeof(?) AS g",
      params: [5, 5, 1.5, true, [1, 'a', null], { x: [1, 2] }, null],
    })) as { rows: JsonObject[] };
    expect(rows).toEqual([{ a: 'integer', b: '5', c: 'real', d: 1, e: '[1,"a",null]', f: 2, g: 'null' }]);
  });

  test('a zero byte in a text is kept', async () => {
    const { call } = shared;
    expect(await call('db', { sql: 'SELECT length(CAST(? AS blob)) AS n', params: ['a\0b'] })).toEqual({
      rows: [{ n: 3 }],
    });
  });

  test('parameters may be named, or numbered as in PostgreSQL', async () => {
    const { call, failure } = shared;
    expect(
      await call('db', {
        sql: 'SELECT :a AS a, @b AS b, $c AS c, :a AS again',
        params: { a: 1, b: "'x'", c: null },
      }),
    ).toEqual({ rows: [{ a: 1, b: "'x'", c: null, again: 1 }] });
    expect(await call('db', { sql: 'SELECT $2 AS b, $1 AS a', params: ['one', 'two'] })).toEqual({
      rows: [{ b: 'two', a: 'one' }],
    });
    expect((await failure('db', { sql: 'SELECT :a', params: {} })).message).toContain('has no "a"');
    expect((await failure('db', { sql: 'SELECT :a', params: { a: 1, b: 2 } })).message).toContain('has "b"');
    expect((await failure('db', { sql: 'SELECT :a', params: [1] })).hint).toContain('{ "a": … }');
    expect((await failure('db', { sql: 'SELECT ?', params: { a: 1 } })).hint).toContain('Give a list');
    expect((await failure('db', { sql: 'SELECT ?, :a', params: [1] })).message).toContain(
      'would have to fill both',
    );
  });

  test('execute gives the id of the row it inserted', async () => {
    const { call } = shared;
    await call('db', { operation: 'execute', sql: 'CREATE TABLE counted (id INTEGER PRIMARY KEY, a)' });
    await call('db', { operation: 'execute', sql: 'CREATE TABLE log (a)' });
    await call('db', {
      operation: 'execute',
      sql: 'CREATE TRIGGER noted AFTER UPDATE ON counted BEGIN INSERT INTO log VALUES (1); INSERT INTO log VALUES (2); END',
    });
    expect(
      await call('db', { operation: 'execute', sql: 'INSERT INTO counted (a) VALUES (1), (2)' }),
    ).toEqual({
      affected: 2,
      last_id: 2,
    });
    expect(await call('db', { operation: 'execute', sql: 'UPDATE counted SET a = 3 WHERE id = 1' })).toEqual({
      affected: 1,
    });
  });

  test.each([
    ["ATTACH DATABASE './other.db' AS o", 'one file'],
    ["/* x */ attach './other.db' AS o", 'one file'],
    ["VACUUM INTO './copy.db'", 'one file'],
    ["VACUUM main INTO './copy.db'", 'one file'],
    ['PRAGMA journal_mode = OFF', 'Allowed: table_info'],
    ["PRAGMA main.temp_store_directory = '/'", 'Allowed: table_info'],
    ["SELECT load_extension('./x.so')", undefined],
  ])('a statement cannot leave the file: %s', async (sql, hint) => {
    const { failure, folder } = shared;
    for (const operation of ['query', 'execute']) {
      const error = await failure('db', { operation, sql });
      expect(error.code).toBe('sql_error');
      if (hint !== undefined) expect(error.hint).toContain(hint);
    }
    for (const name of ['other.db', 'copy.db']) expect(existsSync(join(folder, name))).toBe(false);
  });

  test('what a pragma tells may be asked', async () => {
    const { call } = shared;
    await call('db', { operation: 'execute', sql: 'CREATE TABLE told (a TEXT)' });
    expect(await call('db', { sql: 'PRAGMA table_info(told)' })).toMatchObject({
      rows: [{ name: 'a', type: 'TEXT' }],
    });
  });

  test('the file has to lie inside the permitted paths', async () => {
    const outside = temporaryProject();
    const { failure, call } = await open('', join(outside, 'x.db'));
    expect(await failure('db', { sql: 'SELECT 1' })).toMatchObject({ code: 'not_permitted' });
    expect(await call('db', { operation: 'health' })).toMatchObject({
      ok: false,
      error: { code: 'not_permitted' },
    });
    expect(existsSync(join(outside, 'x.db'))).toBe(false);
    const permitted = await open('', join(outside, 'x.db'), `permissions: { paths: ["${outside}"] }`);
    expect(await permitted.call('db', { sql: 'SELECT 1 AS n' })).toEqual({ rows: [{ n: 1 }] });
  });

  test.each(['data.db', 'FILE'])('its address may be %s', async (address) => {
    const folder = temporaryProject();
    const url = address === 'FILE' ? `file://${folder}/data.db` : address;
    const { call } = await open('', url, `permissions: { paths: [".", "${folder}"] }`);
    expect(await call('db', { sql: 'SELECT 1 AS n' })).toEqual({ rows: [{ n: 1 }] });
  });

  test('a file that is no database, or lies in no folder, is said to be so', async () => {
    const { failure, call, folder } = await open();
    writeFileSync(
      join(folder, 'data.db'),
      'This is a text, and a long one, but no database at all. '.repeat(20),
    );
    expect(await failure('db', { sql: 'SELECT * FROM sqlite_schema' })).toMatchObject({
      code: 'relic_unavailable',
      retryable: false,
      message: expect.stringContaining('not a database'),
    });
    expect(await call('db', { operation: 'health' })).toMatchObject({ ok: false });
    const nowhere = await open('', './no/folder/data.db');
    expect(await nowhere.failure('db', { sql: 'SELECT 1' })).toMatchObject({
      code: 'relic_unavailable',
      message: expect.stringContaining('no/folder/data.db'),
    });
  });

  test("the runtime's own store is not to be had as a database", async () => {
    const { failure, folder } = await open();
    const store = await openSqliteStore({
      path: join(folder, 'data.db'),
      clock: createSystemClock(),
      pid: process.pid,
    });
    await store.close();
    expect(await failure('db', { sql: 'SELECT 1' })).toMatchObject({
      code: 'relic_unavailable',
      message: expect.stringContaining("the runtime's own store"),
    });
  });

  test('a lock of another process is waited for, and then worth another try', async () => {
    const { failure, call, folder } = await open();
    await call('db', { operation: 'execute', sql: 'CREATE TABLE t (a)' });
    const other = new DatabaseSync(join(folder, 'data.db'));
    onTestFinished(() => other.close());
    other.exec('BEGIN EXCLUSIVE');
    const waits = call('db', { operation: 'execute', sql: 'INSERT INTO t VALUES (1)' });
    other.exec('COMMIT');
    expect(await waits).toMatchObject({ affected: 1 });
    other.exec('BEGIN EXCLUSIVE');
    expect(await failure('db', { operation: 'execute', sql: 'INSERT INTO t VALUES (2)' })).toMatchObject({
      code: 'sql_error',
      retryable: true,
      message: expect.stringContaining('locked'),
    });
  });

  test('two agents on one file see what the other wrote', async () => {
    const one = await open();
    const two = await open('', join(one.folder, 'data.db'), `permissions: { paths: ["${one.folder}"] }`);
    await one.call('db', { operation: 'execute', sql: 'CREATE TABLE t (a)' });
    await Promise.all(
      [one, two].flatMap(({ call }) =>
        Array.from({ length: 10 }, (_, n) =>
          call('db', { operation: 'execute', sql: 'INSERT INTO t VALUES (?)', params: [n] }),
        ),
      ),
    );
    expect(await two.call('db', { sql: 'SELECT count(*) AS n FROM t' })).toEqual({ rows: [{ n: 20 }] });
  });

  test('a process that dies under a call is replaced', async () => {
    const before = await childrenOf(process.pid);
    const { failure, call } = await open();
    const die = async (input: JsonObject) => {
      const failed = failure('db', input);
      await eventually(async () => {
        const children = await childrenOf(process.pid);
        const own = children.find(({ pid }) => before.every((each) => each.pid !== pid));
        expect(own).toBeDefined();
        process.kill(own?.pid ?? 0, 'SIGKILL');
      });
      return failed;
    };
    expect(await die({ sql: ENDLESS })).toMatchObject({ code: 'relic_unavailable', retryable: true });
    expect(await die({ operation: 'execute', sql: ENDLESS })).toMatchObject({
      code: 'relic_unavailable',
      retryable: false,
      hint: expect.stringContaining('is unknown'),
    });
    expect(await call('db', { sql: 'SELECT 1 AS n' })).toEqual({ rows: [{ n: 1 }] });
  });

  test('the process ends with the one that started it, even in the middle of a statement', async () => {
    const script = fileURLToPath(new URL('./fixtures/endless-sqlite.ts', import.meta.url));
    const folder = temporaryProject();
    const runner = spawn(process.execPath, [script, join(folder, 'data.db'), ENDLESS], { stdio: 'ignore' });
    const sqlite = await eventually(async () => {
      const [found] = await childrenOf(runner.pid ?? 0);
      expect(found?.cpuTicks).toBeGreaterThan(5);
      return found?.pid ?? 0;
    });
    runner.kill('SIGKILL');
    await eventually(() => expect(existsSync(`/proc/${sqlite}`)).toBe(false));
  });

  test('its health says the version', async () => {
    const { call } = shared;
    expect(await call('db', { operation: 'health' })).toMatchObject({
      ok: true,
      driver: 'sql',
      where: 'sqlite:./data.db',
      dialect: 'sqlite',
      version: expect.stringMatching(/^3\./),
    });
  });
});

describe('placeholders', () => {
  test.each([
    ['SELECT \'?\', "?", `?`, [?], ? -- ?\n, :a /* :b */', ['?', ':a']],
    ["SELECT 'it''s ?', a$1, x.y, 1e5, $1", ['$1']],
    ['SELECT ?12, @ä, :b_1', ['?12', '@ä', ':b_1']],
    ["SELECT json_extract(d, '$.a') -> '$.b', d ->> '$'", []],
    ["SELECT 'never closed ?", []],
  ])('are found outside of texts, names and comments: %s', (sql, expected) => {
    expect(placeholders(sql)).toEqual(expected);
  });

  test('are found as SQLite finds them, whatever stands between them', () => {
    const db = new DatabaseSync(':memory:');
    const piece = fc.constantFrom(
      "'a?b'",
      "'it''s :x'",
      '"?"',
      '`:a`',
      '[?]',
      '/* ? */',
      '-- ?\n',
      '?',
      '1',
      'NULL',
      "'$1'",
    );
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
        const wanted = pieces.filter((each) => each === '?').length;
        const values = pieces.map((each) => (/^["`[]/.test(each) ? `1 AS ${each}` : each));
        const sql = `SELECT ${values.map((each) => (/^(\/\*|--)/.test(each) ? `1 ${each}` : each)).join(', ')}`;
        const bound = bindParams('relic "db"', {
          sql,
          params: pieces.flatMap((each) => (each === '?' ? [7] : [])),
        });
        expect(bound).toEqual({ places: Array.from({ length: wanted }, () => 7) });
        const statement = db.prepare(sql);
        expect(() => statement.all(...Array.from({ length: wanted }, () => 7))).not.toThrow();
        expect(() => statement.all(...Array.from({ length: wanted + 1 }, () => 7))).toThrow();
      }),
      { numRuns: moreRuns(300) },
    );
    db.close();
  });

  test('text with every kind of line break comes back as it was bound', PATIENT, async () => {
    const text = 'a\n\r\n\r\u2028\u2029\u0085\u000b\u000cz';
    const { rows } = (await shared.call('db', { sql: 'SELECT ? AS text', params: [text] })) as {
      rows: JsonObject[];
    };
    expect(rows).toEqual([{ text }]);
  });

  test('any value at all comes back as it was bound', PATIENT, async () => {
    const { call } = shared;
    const value: fc.Arbitrary<Json> = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'binary-ascii' }).map((text) => text.replaceAll('\0', '')),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
      fc.constant(null),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 8 }), async (params) => {
        const sql = `SELECT ${params.map((_, n) => `? AS c${n}`).join(', ')}`;
        const { rows } = (await call('db', { sql, params })) as { rows: JsonObject[] };
        expect(Object.values(rows[0] ?? {})).toEqual(params);
      }),
      { numRuns: moreRuns(100) },
    );
  });
});

interface Child {
  readonly pid: number;
  readonly cpuTicks: number;
}

/** The processes of SQLite below another, by the system's own word. */
async function childrenOf(parent: number): Promise<readonly Child[]> {
  const { readdir, readFile } = await import('node:fs/promises');
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [stat, command] = await Promise.all([
        readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
        readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
      ]);
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(fields[1]) !== parent || !command.includes('sqlite-process')) return [];
      return [{ pid: Number(pid), cpuTicks: Number(fields[11]) }];
    }),
  );
  return found.flat();
}

/** Those that compute now: by the time they get, which is little on a busy machine. */
async function childrenBusy(): Promise<number> {
  const before = await childrenOf(process.pid);
  for (let tries = 0; tries < 25; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = await childrenOf(process.pid);
    const known = now.flatMap(({ pid, cpuTicks }) => {
      const earlier = before.find((each) => each.pid === pid);
      return earlier === undefined ? [] : [cpuTicks - earlier.cpuTicks];
    });
    const busy = known.filter((ticks) => ticks >= 2).length;
    if (busy > 0 || known.length === 0) return busy;
  }
  return 0;
}
