import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import type { AgentTargets } from './agent-targets.ts';

export interface SqlHome {
  /** An agent with the relic `db` on a database with nothing in it. */
  open(more?: string): Promise<AgentTargets>;
  /** One that the tests share: starting a database costs more than most of them. */
  shared(): AgentTargets;
  /** The n-th placeholder. */
  place(n: number): string;
  /** A column that numbers itself. */
  readonly serial: string;
  /** A statement that takes for ever, and reads only. */
  readonly endless: string;
  /** Whether such a statement still runs in the database. */
  isRunning(targets: AgentTargets): Promise<boolean>;
}

const HOSTILE: readonly (readonly [what: string, value: string])[] = [
  ['quotes', `'; DROP TABLE notes; --`],
  ['double quotes and backslashes', `\\'" \\\\ "; DELETE FROM notes; /*`],
  ['placeholders', '? $1 :name @name ?1'],
  ['unicode', 'ünï 𝄞 \u202e \u0301 日本 🤖'],
  ['line breaks', 'a\r\n\tb'],
  ['a megabyte', 'x'.repeat(900_000)],
  ['nothing', ''],
];

/** What every database does alike. */
export function sqlContract({ open, shared, place, serial, endless, isRunning }: SqlHome): void {
  const withNotes = async (more?: string) => {
    const targets = more === undefined ? shared() : await open(more);
    if (more === undefined)
      for (const what of ['VIEW IF EXISTS short', 'TABLE IF EXISTS notes', 'TABLE IF EXISTS numbers'])
        await targets.call('db', { operation: 'execute', sql: `DROP ${what}` });
    await targets.call('db', {
      operation: 'execute',
      sql: `CREATE TABLE notes (id ${serial}, body text, CHECK (body <> 'refused'))`,
    });
    const insert = (body: Json) =>
      targets.call('db', {
        operation: 'execute',
        sql: `INSERT INTO notes (body) VALUES (${place(1)})`,
        params: [body],
      });
    const bodies = async () =>
      (
        (await targets.call('db', { sql: 'SELECT body FROM notes ORDER BY id' })) as { rows: JsonObject[] }
      ).rows.map(({ body }) => body);
    return { ...targets, insert, bodies };
  };
  const signalled = () => {
    const controller = new AbortController();
    return {
      signal: controller.signal,
      stop: () => controller.abort(new RuntimeError('timeout', 'Too slow.')),
    };
  };

  describe('rows', () => {
    test('query reads rows and is the default', async () => {
      const { call, insert } = await withNotes();
      expect(await insert('one')).toMatchObject({ affected: 1 });
      await insert(null);
      expect(await call('db', { sql: 'SELECT id, body FROM notes ORDER BY id' })).toEqual({
        rows: [
          { id: 1, body: 'one' },
          { id: 2, body: null },
        ],
      });
    });

    test('execute says how many rows it changed, and gives what it returns', async () => {
      const { call, insert } = await withNotes();
      await insert('a');
      await insert('b');
      expect(
        await call('db', { operation: 'execute', sql: 'UPDATE notes SET body = body || id RETURNING body' }),
      ).toMatchObject({ affected: 2, rows: [{ body: 'a1' }, { body: 'b2' }] });
      expect(await call('db', { operation: 'execute', sql: 'DELETE FROM notes WHERE id > 7' })).toEqual({
        affected: 0,
      });
    });

    test('more rows than asked for are cut, with a word about it', async () => {
      const { call, insert } = await withNotes();
      for (const body of ['a', 'b', 'c']) await insert(body);
      const sql = 'SELECT body FROM notes ORDER BY id';
      expect(await call('db', { sql, limit: 2 })).toEqual({
        rows: [{ body: 'a' }, { body: 'b' }],
        truncated: expect.stringContaining('these 2: the limit is reached'),
      });
      expect(await call('db', { sql, limit: 3 })).toEqual({
        rows: [{ body: 'a' }, { body: 'b' }, { body: 'c' }],
      });
    });

    test('more bytes than allowed are cut, and a row that alone has more is refused', async () => {
      const { call, failure, insert } = await withNotes('max_bytes: 2000, max_rows: 100');
      for (let n = 0; n < 5; n++) await insert(`${n}${'x'.repeat(700)}`);
      const { rows, truncated } = (await call('db', { sql: 'SELECT body FROM notes' })) as {
        rows: Json[];
        truncated: string;
      };
      expect(rows).toHaveLength(2);
      expect(truncated).toContain('too large');
      await insert('y'.repeat(5_000));
      expect(await failure('db', { sql: 'SELECT body FROM notes ORDER BY id DESC' })).toMatchObject({
        code: 'output_too_large',
        hint: expect.stringContaining('substr'),
      });
      expect(await call('db', { sql: 'SELECT count(*) AS n FROM notes' })).toEqual({ rows: [{ n: 6 }] });
      expect((await failure('db', { sql: 'SELECT 1', limit: 101 })).message).toContain('"/limit"');
    });

    test('a statement that changes something is carried out although its rows are cut', async () => {
      const { call, insert, bodies } = await withNotes('max_rows: 2');
      for (const body of ['a', 'b', 'c']) await insert(body);
      expect(
        await call('db', { operation: 'execute', sql: "UPDATE notes SET body = body || '!' RETURNING id" }),
      ).toMatchObject({ affected: 3, rows: [{}, {}], truncated: expect.stringContaining('2') });
      expect(await bodies()).toHaveLength(2);
      expect(await call('db', { sql: "SELECT count(*) AS n FROM notes WHERE body LIKE '%!'" })).toEqual({
        rows: [{ n: 3 }],
      });
    });
  });

  describe('parameters', () => {
    test.each(HOSTILE)('%s are a value like any other', async (_, value) => {
      const { call, insert, bodies } = await withNotes();
      await insert(value);
      expect(await bodies()).toEqual([value]);
      expect(
        await call('db', {
          sql: `SELECT count(*) AS n FROM notes WHERE body = ${place(1)}`,
          params: [value],
        }),
      ).toEqual({ rows: [{ n: 1 }] });
    });

    test('the same number of values as places, or none of it is done', async () => {
      const { failure, bodies } = await withNotes();
      const sql = `INSERT INTO notes (body) VALUES (${place(1)})`;
      for (const params of [[], ['a', 'b']])
        expect(['bad_parameters', 'sql_error']).toContain(
          (await failure('db', { operation: 'execute', sql, params })).code,
        );
      expect(await bodies()).toEqual([]);
    });

    test('numbers, truth and nothing keep what they are', async () => {
      const { call } = await withNotes();
      await call('db', {
        operation: 'execute',
        sql: 'CREATE TABLE numbers (whole bigint, part double precision)',
      });
      const rows: readonly (readonly Json[])[] = [
        [9007199254740991, 0.1],
        [-5, -1e300],
        ['9223372036854775807', null],
        [0, 3],
      ];
      for (const params of rows)
        await call('db', {
          operation: 'execute',
          sql: `INSERT INTO numbers VALUES (${place(1)}, ${place(2)})`,
          params: [...params],
        });
      const { rows: found } = (await call('db', { sql: 'SELECT whole, part FROM numbers' })) as {
        rows: JsonObject[];
      };
      expect(found.map(({ whole, part }) => [whole, part])).toEqual(rows);
    });
  });

  describe('statements', () => {
    test.each([
      'SELECT 1; SELECT 2',
      'SELECT 1; DROP TABLE notes',
      "INSERT INTO notes (body) VALUES ('x'); DELETE FROM notes",
      'SELECT 1 /* ; */ ; -- \n DELETE FROM notes',
    ])('of several only an error comes: %s', async (sql) => {
      const { failure, bodies, insert } = await withNotes();
      await insert('kept');
      for (const operation of ['query', 'execute'])
        expect(await failure('db', { operation, sql })).toMatchObject({
          code: 'sql_error',
          hint: expect.stringContaining('transaction'),
        });
      expect(await bodies()).toEqual(['kept']);
    });

    test('a lone statement may end with a semicolon and a comment', async () => {
      const { call } = shared();
      for (const sql of ['SELECT 1 AS n;', '/* one */ SELECT 1 AS n -- two', 'SELECT 1 AS n; -- the end;'])
        expect(await call('db', { sql })).toEqual({ rows: [{ n: 1 }] });
    });

    test.each(['', '  ', '-- nothing', '/* nothing */ ;'])('of nothing an error comes: "%s"', async (sql) => {
      const { failure } = shared();
      expect(['sql_error', 'bad_parameters']).toContain((await failure('db', { sql })).code);
    });

    test.each(['BEGIN', 'commit', ' /* x */ ROLLBACK', '-- a\nSAVEPOINT s'])(
      'a call cannot leave a transaction open: %s',
      async (sql) => {
        const { failure } = shared();
        expect(await failure('db', { operation: 'execute', sql })).toMatchObject({
          code: 'sql_error',
          hint: expect.stringContaining('"transaction"'),
        });
      },
    );

    test('query changes nothing, however it is put', async () => {
      const { failure, call, bodies, insert, tool } = await withNotes();
      await insert('kept');
      for (const sql of [
        "INSERT INTO notes (body) VALUES ('x') RETURNING id",
        'DELETE FROM notes',
        'CREATE TABLE other (a int)',
        'DROP TABLE notes',
      ])
        expect(await failure('db', { sql })).toMatchObject({
          code: 'sql_error',
          retryable: false,
          hint: expect.stringContaining('"execute"'),
        });
      expect(await bodies()).toEqual(['kept']);
      await insert('and afterwards all is as before');
      expect(await call('db', { sql: 'SELECT count(*) AS n FROM notes' })).toEqual({ rows: [{ n: 2 }] });
      const again = (operation: string) => tool('db').idempotentFor?.({ operation });
      expect(['query', 'schema', 'health', 'execute', 'transaction'].map(again)).toEqual([
        true,
        true,
        true,
        false,
        false,
      ]);
    });

    test('what the database says is in the error', async () => {
      const { failure, insert } = await withNotes();
      await insert('fine');
      expect(await failure('db', { sql: 'SELECT nope FROM notes' })).toMatchObject({
        code: 'sql_error',
        message: expect.stringContaining('nope'),
        retryable: false,
      });
      const sql = "INSERT INTO notes (body) VALUES ('refused')";
      expect((await failure('db', { operation: 'execute', sql })).message).toMatch(/constraint/i);
    });
  });

  describe('transactions', () => {
    const statements = (...bodies: readonly Json[]) =>
      bodies.map((body) => ({ sql: `INSERT INTO notes (body) VALUES (${place(1)})`, params: [body] }));

    test('all statements are carried out, in order', async () => {
      const { call, bodies } = await withNotes();
      const { results } = (await call('db', {
        operation: 'transaction',
        statements: [...statements('a', 'b'), { sql: "UPDATE notes SET body = body || '!'" }],
      })) as { results: JsonObject[] };
      expect(results.map(({ affected }) => affected)).toEqual([1, 1, 2]);
      expect(await bodies()).toEqual(['a!', 'b!']);
    });

    test('or none, if one fails', async () => {
      const { failure, bodies, insert } = await withNotes();
      await insert('before');
      expect(
        await failure('db', { operation: 'transaction', statements: statements('a', 'refused', 'c') }),
      ).toMatchObject({ code: 'sql_error' });
      expect(
        await failure('db', {
          operation: 'transaction',
          statements: [...statements('a'), { sql: 'COMMIT' }],
        }),
      ).toMatchObject({
        code: 'sql_error',
      });
      expect(await bodies()).toEqual(['before']);
      await insert('after');
      expect(await bodies()).toEqual(['before', 'after']);
    });
  });

  test('the schema lists tables and views with their columns', async () => {
    const { call } = await withNotes();
    await call('db', { operation: 'execute', sql: 'CREATE VIEW short AS SELECT id FROM notes' });
    const { tables } = (await call('db', { operation: 'schema' })) as { tables: JsonObject[] };
    expect(tables).toMatchObject([
      {
        name: 'notes',
        kind: 'table',
        columns: [
          { name: 'id', key: true },
          { name: 'body', type: expect.stringMatching(/text/i) },
        ],
      },
      { name: 'short', kind: 'view', columns: [{ name: 'id' }] },
    ]);
    expect(await call('db', { operation: 'schema', table: 'short' })).toMatchObject({
      tables: [{ name: 'short' }],
    });
    expect(await call('db', { operation: 'schema', table: "'; --" })).toEqual({ tables: [] });
  });

  describe('stopping', () => {
    test('a statement that takes for ever is ended in the database when its call is', async () => {
      const targets = await withNotes();
      const { signal, stop } = signalled();
      const failed = targets.failure('db', { sql: endless }, { signal });
      await until(() => isRunning(targets));
      stop();
      expect(await failed).toMatchObject({ code: 'timeout', message: 'Too slow.' });
      await until(async () => !(await isRunning(targets)));
      await targets.insert('goes on');
      expect(await targets.bodies()).toEqual(['goes on']);
    });

    test('a call that waits for its turn can be stopped, and the others go on', async () => {
      const targets = await withNotes('pool: 1');
      const [first, second] = [signalled(), signalled()];
      const slow = targets.failure('db', { sql: endless }, { signal: first.signal });
      await until(() => isRunning(targets));
      const waiting = targets.failure('db', { sql: 'SELECT 1' }, { signal: second.signal });
      const third = targets.bodies();
      second.stop();
      expect(await waiting).toMatchObject({ code: 'timeout' });
      first.stop();
      await slow;
      expect(await third).toEqual([]);
    });

    test('a transaction that is stopped leaves nothing', async () => {
      const targets = await withNotes();
      const { signal, stop } = signalled();
      const statements = [{ sql: "INSERT INTO notes (body) VALUES ('half')" }, { sql: endless }];
      const failed = targets.failure('db', { operation: 'transaction', statements }, { signal });
      await until(() => isRunning(targets));
      stop();
      expect(await failed).toMatchObject({ code: 'timeout' });
      await until(async () => !(await isRunning(targets)));
      expect(await targets.bodies()).toEqual([]);
    });

    test('after its table is closed it takes no call', async () => {
      const targets = await open();
      await targets.call('db', { sql: 'SELECT 1' });
      await targets.table.close();
      expect(await targets.failure('db', { sql: 'SELECT 1' })).toMatchObject({
        code: 'relic_unavailable',
        retryable: false,
      });
    });
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('it never came to hold');
}
