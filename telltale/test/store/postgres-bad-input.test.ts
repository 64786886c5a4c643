import type { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { parsePostgresAddress } from '../../src/store/postgres/postgres-clients.ts';
import { describePostgresFailure, isBroken } from '../../src/store/postgres/postgres-errors.ts';
import { migrate } from '../../src/store/postgres/schema/migrate.ts';
import { MIGRATIONS, type Migration } from '../../src/store/postgres/schema/migrations.ts';
import { freePort } from '../servers/free-port.ts';
import { append, outcome } from './appending.ts';
import { PATIENT } from './eventually.ts';
import { type PostgresHome, useHome } from './postgres-home.ts';

const RUN = { kind: 'run', name: 'flow', status: 'running', title: 'A run' } as const;
const SECRET = 'geheim';
const clock = createSystemClock();

let home: PostgresHome;
useHome((made) => {
  home = made;
});

/** Tables, columns and functions of the test's schema: what a refusal must not have changed. */
const picture = () =>
  home.sql(
    `SELECT 'column' AS what, c.relname AS of, a.attname::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1
      UNION ALL SELECT 'function', p.proname, p.prosrc FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1
      ORDER BY 1, 2, 3`,
    [home.schema],
  );
const withParts = (parts: Partial<Pick<URL, 'username' | 'password' | 'pathname'>>) =>
  Object.assign(new URL(home.url), parts).href;
/** The error with which opening fails. No part of it shows the password. */
const refusal = async (url: string, options = {}): Promise<unknown> => {
  const error = await home.open({ url, timing: { patienceMs: 0 }, ...options }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(JSON.stringify(error)).not.toContain(SECRET);
  expect(JSON.stringify(error)).not.toContain('pass/word');
  return error;
};
/** A user of the test's own. */
const role = async (name: string, rights = ''): Promise<string> => {
  await home.sql(`CREATE ROLE ${name} LOGIN PASSWORD '${SECRET}'`);
  if (rights !== '') await home.sql(rights);
  return withParts({ username: name, password: SECRET });
};

describe('an address', () => {
  test.each([
    ['postgres://', 'no host'],
    ['postgres://user:geheim@host', 'no database'],
    ['postgres:host/db', 'no host'],
    ['postgres://user:geheim@:bad/db', 'no URL'],
    ['postgres://user:geheim@host:99999/db', 'no URL'],
    ['postgres://user:geh%zzeim@host/db', 'hex'],
    ['postgres://user:/geheim@host/db', 'behind its first "/"'],
    ['postgres://user:12/geheim@host/db', 'behind its first "/"'],
    ['postgres://host/db?lease=10', 'lease'],
    ['postgres://host/db?schema=Upper', 'schema'],
    ['postgres://host/db?schema=pg_mine', 'schema'],
    [`postgres://host/db?schema=${'x'.repeat(60)}`, 'schema'],
    ['postgres://host/db?fleet=a%20b', 'fleet'],
    ['postgres://host/db?connect_timeout=soon', 'connect_timeout'],
  ])('%s is refused', async (url, found) => {
    const error = await refusal(url);
    expect(error).toMatchObject({ code: 'store_unknown', message: expect.stringContaining(found) });
  });

  test('is shown without user and password, and only what is ours is taken out of it', () => {
    const url =
      'postgres://user:geheim@db.example:6432/prod?schema=own&fleet=f&sslmode=require&connect_timeout=3';
    expect(parsePostgresAddress(url)).toEqual({
      connectionString: 'postgres://user:geheim@db.example:6432/prod?sslmode=require',
      place: 'db.example:6432/prod',
      location: 'postgres://db.example:6432/prod?schema=own',
      schema: 'own',
      fleet: 'f',
      connectTimeoutMs: 3_000,
    });
    expect(parsePostgresAddress('postgresql:///db?host=/run/pg')).toMatchObject({
      place: '/run/pg:5432/db',
      schema: 'telltale',
      fleet: 'telltale',
    });
  });

  test('opens a store, whose location shows no password', PATIENT, async () => {
    const store = await openStore(home.url, { clock, cwd: '/tmp', pid: process.pid });
    expect(store.location).toMatch(/^postgres:\/\/127\.0\.0\.1:\d+\/test_\w+\?schema=s_\w+$/);
    expect(store.shared).toBeDefined();
    await store.close();
  });

  test('of an unknown host is refused', async () => {
    expect(await refusal(`postgres://u:${SECRET}@nowhere.invalid/db`)).toMatchObject({
      code: 'store_unreachable',
      message: expect.stringContaining('nowhere.invalid:5432/db'),
      retryable: true,
    });
  });

  test('where nobody listens is refused', async () => {
    const port = await freePort();
    expect(await refusal(`postgres://u:${SECRET}@127.0.0.1:${port}/db`)).toMatchObject({
      code: 'store_unreachable',
      message: expect.stringContaining(`127.0.0.1:${port}/db`),
    });
  });

  test('with a wrong password or of an unknown database is refused', async () => {
    const denied = await refusal(withParts({ password: SECRET }));
    expect(denied).toMatchObject({ code: 'store_denied', hint: expect.stringContaining('password') });
    const missing = await refusal(withParts({ pathname: '/nothing' }));
    expect(missing).toMatchObject({
      code: 'no_store',
      message: expect.stringContaining('/nothing'),
      hint: expect.stringContaining('createdb'),
    });
  });
});

describe('a server', () => {
  test('that is too old is refused', async () => {
    const asked: string[] = [];
    const old = {
      async query(text: string) {
        asked.push(text);
        return {
          rows: [{ version: 130_014, called: '13.14', encoding: 'UTF8', standby: false, readonly: false }],
        };
      },
    } as unknown as Client;
    const where = { schema: 'telltale', fleet: 'telltale', place: 'host:5432/db' };
    await expect(migrate(old, where)).rejects.toMatchObject({
      code: 'store_unsupported',
      message: expect.stringContaining('13.14'),
    });
    expect(asked).toHaveLength(1);
  });

  test('whose database is not in UTF8 is refused', PATIENT, async () => {
    const name = `ascii_${home.schema}`;
    await home.sql(`CREATE DATABASE ${name} ENCODING 'SQL_ASCII' TEMPLATE template0`);
    const error = await refusal(withParts({ pathname: `/${name}` }));
    expect(error).toMatchObject({
      code: 'store_unsupported',
      message: expect.stringContaining('SQL_ASCII'),
    });
    await home.sql(`DROP DATABASE ${name}`);
  });

  test('that only reads is refused', async () => {
    const url = await role('reads_only', 'ALTER ROLE reads_only SET default_transaction_read_only = on');
    expect(await refusal(url)).toMatchObject({
      code: 'store_unwritable',
      hint: expect.stringContaining('primary'),
    });
    await home.sql('DROP ROLE reads_only');
  });
});

test(
  'a database whose transactions see what was before their locks makes no difference',
  PATIENT,
  async () => {
    const database = new URL(home.url).pathname.slice(1);
    await home.sql(`ALTER DATABASE "${database}" SET default_transaction_isolation = 'repeatable read'`);
    try {
      const stores = await Promise.all(Array.from({ length: 4 }, () => home.open()));
      for (const round of Array.from({ length: 10 }, (_, n) => n)) {
        const given = await Promise.all(
          stores.map(({ shared }, holder) => shared.slots.take(`of ${round}`, 1, `${holder}`)),
        );
        expect(given.filter(Boolean)).toHaveLength(1);
      }
    } finally {
      await home.sql(`ALTER DATABASE "${database}" RESET default_transaction_isolation`);
    }
  },
);

describe('rights', () => {
  test('to make a schema are needed, or a schema that somebody made', PATIENT, async () => {
    const url = await role('newcomer');
    expect(await refusal(url)).toMatchObject({
      code: 'store_unwritable',
      message: expect.stringContaining('permission denied'),
      hint: expect.stringContaining('CREATE SCHEMA'),
    });
    expect(await refusal(url, { mustExist: true })).toMatchObject({
      code: 'store_unwritable',
      message: expect.stringContaining('"newcomer" may not make it'),
      hint: expect.stringContaining('CREATE SCHEMA'),
    });
    expect(await picture()).toEqual([]);
    await home.sql('CREATE SCHEMA {S} AUTHORIZATION newcomer');
    expect(await refusal(url, { mustExist: true })).toMatchObject({ code: 'store_empty' });
    expect(await picture()).toEqual([]);
    const store = await home.open({ url });
    await append(await store.create('s', RUN), { expectedSeq: 0, events: ['{}'] });
    await store.close();
    await home.sql('DROP SCHEMA {S} CASCADE');
    await home.sql('DROP ROLE newcomer');
  });

  test.each([
    ['to read alone', 'SELECT'],
    ['to read and to write without a number for new streams', 'SELECT, INSERT, UPDATE, DELETE'],
    ['to everything but to clear away', 'SELECT, INSERT, UPDATE'],
  ])('%s are not enough', PATIENT, async (_, rights) => {
    await (await home.open()).close();
    const url = await role(
      'reader',
      `GRANT USAGE ON SCHEMA "${home.schema}" TO reader; GRANT ${rights} ON ALL TABLES IN SCHEMA "${home.schema}" TO reader`,
    );
    const before = await picture();
    expect(await refusal(url)).toMatchObject({
      code: 'store_unwritable',
      message: expect.stringContaining('"reader"'),
      hint: expect.stringContaining('GRANT'),
    });
    expect(await picture()).toEqual(before);
    await home.sql('DROP OWNED BY reader; DROP ROLE reader');
  });
});

describe('a schema', () => {
  const meta = () => home.sql('SELECT * FROM {S}.meta');

  test.each([
    ['a table of its own', 'CREATE TABLE {S}.orders (id int)', '"orders"'],
    ['a table of one of our names', 'CREATE TABLE {S}.log (line text)', '"log"'],
    ['a table meta of another form', 'CREATE TABLE {S}.meta (key text)', '"meta"'],
    [
      'a table meta of another program',
      'CREATE TABLE {S}.meta (product text, version int, compatible int, fleet text)',
      'another program',
    ],
  ])('with %s is refused and not touched', async (_, sql, found) => {
    await home.sql('CREATE SCHEMA {S}');
    await home.sql(sql);
    const before = await picture();
    expect(await refusal(home.url)).toMatchObject({
      code: 'store_foreign',
      message: expect.stringContaining(found),
      hint: expect.stringContaining('?schema='),
    });
    expect(await picture()).toEqual(before);
  });

  test('beside which the schema of its queue is another’s is not made', PATIENT, async () => {
    await home.sql(
      `CREATE SCHEMA "${home.schema}_jobs"; CREATE TABLE "${home.schema}_jobs".openings (title text)`,
    );
    const before = await picture();
    expect(await refusal(home.url)).toMatchObject({
      code: 'store_foreign',
      message: expect.stringMatching(/_jobs".*"openings"/),
    });
    expect(await picture()).toEqual(before);
    await home.sql(`DROP TABLE "${home.schema}_jobs".openings`);
    await home.open(); // an administrator may have made it for us
  });

  test('of a newer version is refused, unless it says that this one may work on it', PATIENT, async () => {
    await (await home.open()).close();
    await home.sql('UPDATE {S}.meta SET version = 99, compatible = 98');
    const before = [await picture(), await meta()];
    expect(await refusal(home.url)).toMatchObject({
      code: 'store_newer',
      message: expect.stringContaining('99'),
    });
    expect([await picture(), await meta()]).toEqual(before);
    await home.sql('UPDATE {S}.meta SET compatible = 1');
    const store = await home.open();
    await append(await store.create('s', RUN), { expectedSeq: 0, events: ['{}'] });
    expect(await meta()).toMatchObject([{ version: 99, compatible: 1 }]);
  });

  test('remembers the lease of its fleet, for those who name none', PATIENT, async () => {
    const first = await home.open({ url: `${home.url}&lease=60000` });
    await first.create('s', RUN);
    await home.sql("UPDATE {S}.owners SET beat_at = now() - interval '30 seconds'");
    const second = await home.open();
    expect(await second.shared.workers()).toMatchObject([{ alive: true }]);
    await expect(second.acquire('s')).rejects.toMatchObject({ code: 'stream_owned' });
    const before = await meta();
    expect(await refusal(`${home.url}&lease=5000`)).toMatchObject({
      code: 'store_other_lease',
      message: expect.stringMatching(/60000 ms, not of 5000/),
      hint: expect.stringContaining('?lease=60000'),
    });
    expect(await meta()).toEqual(before);
    await Promise.all([first.close(), second.close()]);
    await home.open({ url: `${home.url}&lease=5000` }); // nobody is left who goes by the old one
  });

  test('of another fleet is refused', PATIENT, async () => {
    await (await home.open({ url: `${home.url}&fleet=blue` })).close();
    const before = await meta();
    expect(await refusal(home.url)).toMatchObject({
      code: 'store_other_fleet',
      message: expect.stringMatching(/"blue".*"telltale"/),
      hint: expect.stringContaining('?fleet=blue'),
    });
    expect(await meta()).toEqual(before);
    expect((await home.open({ url: `${home.url}&fleet=blue` })).shared.fleet).toBe('blue');
  });

  test('is made once by ten who start at the same time', PATIENT, async () => {
    const stores = await Promise.all(Array.from({ length: 10 }, () => home.open()));
    const version = MIGRATIONS.length;
    expect(await meta()).toMatchObject([{ product: 'telltale', version, compatible: 1, fleet: 'telltale' }]);
    await Promise.all(
      stores.map(async (store, n) =>
        append(await store.create(`s${n}`, RUN), { expectedSeq: 0, events: ['{}'] }),
      ),
    );
    expect(await stores[0]?.list()).toHaveLength(10);
  });

  const NEXT: Migration = { sql: 'ALTER TABLE {S}.heads ADD COLUMN mood text;', compatible: 1 };

  test(
    'is brought forward under a process that goes on, and one of the old version still opens it',
    PATIENT,
    async () => {
      const old = await home.open();
      const writer = await old.create('s', RUN);
      await append(writer, { expectedSeq: 0, events: ['{"n":1}'] });
      const updated = await Promise.all(
        Array.from({ length: 5 }, () => home.open({ migrations: [...MIGRATIONS, NEXT] })),
      );
      const version = MIGRATIONS.length + 1;
      expect(await meta()).toMatchObject([{ version, compatible: 1 }]);
      await append(writer, { expectedSeq: 1, events: ['{"n":2}'], status: 'waiting' });
      expect(await updated[0]?.read('s')).toEqual(['{"n":1}', '{"n":2}']);
      expect(await (await home.open()).info('s')).toMatchObject({ head: 2, status: 'waiting' });
      expect(await meta()).toMatchObject([{ version }]);
    },
  );

  test('of the first version is brought forward, and what is in it is found', PATIENT, async () => {
    const old = await home.open({ migrations: MIGRATIONS.slice(0, 1) });
    const writer = await old.create('s', RUN);
    await append(writer, { expectedSeq: 0, events: ['{}'] });
    await writer.release();
    await old.close();
    expect(await meta()).toMatchObject([{ version: 1 }]);
    const store = await home.open();
    expect(await store.shared.orphans(10)).toMatchObject([{ stream: 's', deaths: 0 }]);
    expect(await meta()).toMatchObject([{ version: MIGRATIONS.length, compatible: 1 }]);
  });

  test('whose migration fails stays as it was', PATIENT, async () => {
    await (await home.open()).close();
    const before = [await picture(), await meta()];
    const broken = { sql: 'CREATE TABLE {S}.half (id int); SELECT 1 / 0;', compatible: 1 };
    const error = await refusal(home.url, { migrations: [...MIGRATIONS, NEXT, broken] });
    expect(error).toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining('division by zero'),
    });
    expect([await picture(), await meta()]).toEqual(before);
  });
});

describe('a write', () => {
  const raiseAt = (table: string, state: string) =>
    home.sql(
      `CREATE FUNCTION {S}.fail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '${state}'; END $$;
        CREATE TRIGGER fail BEFORE INSERT ON {S}.${table} FOR EACH ROW EXECUTE FUNCTION {S}.fail()`,
    );

  test(
    'that finds the disk full fails with its group, and each writer goes on where it was',
    PATIENT,
    async () => {
      const store = await home.open();
      const [a, b] = [await store.create('a', RUN), await store.create('b', RUN)];
      await append(a, { expectedSeq: 0, events: ['{"n":1}'] });
      await raiseAt('log', '53100');
      const full = { code: 'store_full', retryable: true };
      expect(
        await Promise.all([
          outcome(a, { expectedSeq: 1, events: ['{}'], status: 'completed' }),
          outcome(b, { expectedSeq: 0, events: ['{}'] }),
          store.tables.set('t', 'k', 1).catch((error: unknown) => error),
        ]),
      ).toMatchObject([full, full, full]);
      const { made, writer } = store.begin('c', RUN);
      expect(await outcome(writer, { expectedSeq: 0, events: ['{}'] })).toMatchObject(full);
      await expect(made).rejects.toMatchObject(full);
      await home.sql('DROP TRIGGER fail ON {S}.log');
      await append(a, { expectedSeq: 1, events: ['{"n":2}'] });
      await append(b, { expectedSeq: 0, events: ['{"n":3}'] });
      expect(await store.read('a')).toEqual(['{"n":1}', '{"n":2}']);
      expect(await store.info('a')).toMatchObject({ status: 'running' });
      expect(await store.tables.get('t', 'k')).toBeUndefined();
      expect(await store.info('c')).toBeUndefined();
    },
  );

  test('that cannot be kept fails alone: its neighbors in the group go through', PATIENT, async () => {
    const store = await home.open();
    const [a, b, c] = [
      await store.create('a', RUN),
      await store.create('b', RUN),
      await store.create('c', RUN),
    ];
    const results = await Promise.all([
      outcome(a, { expectedSeq: 0, events: ['{"n":1}'] }),
      outcome(b, { expectedSeq: 0, events: ['{"n":"\0"}'] }),
      outcome(c, { expectedSeq: 0, events: ['{"separated":"\x1e"}'] }),
      store.tables.increment('t', 'n', 1),
      store.tables.set('t', 'ü'.repeat(1_000), 1).catch((error: unknown) => error),
      store.tables.set('t', 'x'.repeat(1_024), 'long'),
      store.create('d', { ...RUN, title: 'a\0b\ud800' }),
    ]);
    expect(results).toMatchObject([
      undefined,
      { code: 'store_failed' },
      undefined,
      1,
      { code: 'name_malformed', message: expect.stringContaining('2000 bytes') },
      undefined,
      { stream: 'd' },
    ]);
    expect(await store.read('a')).toEqual(['{"n":1}']);
    expect(await store.read('b')).toEqual([]);
    expect(await store.read('c')).toEqual(['{"separated":"\x1e"}']);
    expect(await store.tables.get('t', 'x'.repeat(1_024))).toBe('long');
    expect((await store.info('d'))?.title).toBe('a\ufffdb\ufffd');
    await append(b, { expectedSeq: 0, events: ['{"n":2}'] });
  });

  test('of a stream whose first events cannot be kept leaves no stream behind', PATIENT, async () => {
    const store = await home.open();
    const [good, bad, odd] = [store.begin('a', RUN), store.begin('b', RUN), store.begin('c', RUN)] as const;
    const writes = [{ table: 't', key: 'k', value: 1 }];
    const results = await Promise.all([
      outcome(good.writer, { expectedSeq: 0, events: ['{"separated":"\x1e"}'], writes }),
      outcome(bad.writer, { expectedSeq: 0, events: ['{"n":"\0"}'] }),
      outcome(odd.writer, { expectedSeq: 0, events: ['{}'] }),
    ]);
    expect(results).toMatchObject([undefined, { code: 'store_failed' }, undefined]);
    await expect(bad.made).rejects.toMatchObject({ code: 'store_failed' });
    expect(await store.info('b')).toBeUndefined();
    expect(await store.read('a')).toEqual(['{"separated":"\x1e"}']);
    expect(await store.info('c')).toMatchObject({ head: 1 });
    await append(await store.create('b', RUN), { expectedSeq: 0, events: ['{}'] });
  });

  test('of more than one call takes comes through whole, and in order', PATIENT, async () => {
    const store = await home.open();
    const writer = await store.create('s', RUN);
    const pushes = Array.from({ length: 1_200 }, (_, n) => store.tables.push('l', n));
    const { writer: begun, made } = store.begin('begun', RUN);
    const big = `{"x":"${'x'.repeat(2_500_000)}"}`;
    const appends = [
      outcome(writer, { expectedSeq: 0, events: [big], writes: [{ table: 't', key: 'k', value: 1 }] }),
      outcome(begun, { expectedSeq: 0, events: ['{"first":true}'] }),
      outcome(writer, { expectedSeq: 1, events: [big], writes: [{ table: 't', key: 'k', value: 2 }] }),
      outcome(begun, { expectedSeq: 1, events: ['{}'], writes: [{ table: 't', key: 'k', value: 3 }] }),
    ];
    expect(await Promise.all(pushes)).toEqual(pushes.map((_, n) => n + 1));
    expect(await Promise.all(appends)).toEqual([undefined, undefined, undefined, undefined]);
    await made;
    expect(await store.tables.get('t', 'k')).toBe(3);
    expect(await store.read('begun')).toEqual(['{"first":true}', '{}']);
    expect((await store.read('s')).map((event) => event.length)).toEqual([big.length, big.length]);
  });

  test('a counter is written as JavaScript writes it', PATIENT, async () => {
    const { tables } = await home.open();
    const at = (value: number) => ({ table: 't', key: 'n', value });
    for (const [from, by] of [
      [0.1, 0.2],
      [1e15, 1],
      [1e20, 1e20],
      [9e20, 2e20],
      [5e-7, 1e-9],
      [-3, 3],
      [1e-6, 1e-6],
    ] as const) {
      await tables.set('t', 'n', from);
      expect(await tables.increment('t', 'n', by)).toBe(from + by);
      expect(await tables.exchange([at(from + by)], [at(0)]), `${from} + ${by}`).toBe(true);
    }
    await tables.set('t', 'n', Number.MAX_VALUE);
    await expect(tables.increment('t', 'n', Number.MAX_VALUE)).rejects.toMatchObject({
      code: 'not_a_number',
    });
  });
});

const said = (code: string) => Object.assign(new Error(`of state ${code}`), { code, severity: 'ERROR' });
const system = (code: string) => Object.assign(new Error(code), { code });

test.each([
  [said('53100'), 'store_full', true, false],
  [said('28P01'), 'store_denied', false, false],
  [said('3D000'), 'no_store', false, false],
  [said('42501'), 'store_unwritable', false, false],
  [said('25006'), 'store_unwritable', true, true],
  [said('57P01'), 'store_unreachable', true, true],
  [said('57P03'), 'store_unreachable', true, true],
  [said('53300'), 'store_unreachable', true, true],
  [said('08006'), 'store_unreachable', true, true],
  [said('40P01'), 'store_locked', true, false],
  [said('55P03'), 'store_locked', true, false],
  [said('XX001'), 'store_damaged', false, false],
  [said('42P01'), 'store_damaged', false, false],
  [said('22021'), 'store_failed', false, false],
  [system('EPIPE'), 'store_unreachable', true, true],
  [system('ECONNREFUSED'), 'store_unreachable', true, true],
  [system('ENOTFOUND'), 'store_unreachable', true, true],
  [new AggregateError([system('ECONNREFUSED')]), 'store_unreachable', true, true],
  [new Error('Query read timeout'), 'store_unreachable', true, true],
])('%s is named', (thrown, code, retryable, broken) => {
  const error = describePostgresFailure('host:5432/db', thrown);
  expect(error).toMatchObject({ code, retryable });
  expect(error.message).toContain('host:5432/db');
  expect(isBroken(thrown)).toBe(broken);
});
