import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { openSqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { append, lines, outcome } from './appending.ts';
import { PATIENT } from './eventually.ts';
import { openInlineStore } from './open-inline-store.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

/** The user that has nothing, on most systems. */
const NOBODY = 65_534;
const HEAD = { kind: 'session', name: 'here', status: 'running', title: 'here' } as const;

let folder: TemporaryFolder;
let path: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  path = folder.path('store.db');
});
afterEach(() => folder.remove());

const open = async (options: Partial<SqliteStoreOptions> = {}): Promise<Store> =>
  openInlineStore({ path, ...options });

/** What opening fails with; whatever is in the folder must be as it was. */
const refusal = async (options: Partial<SqliteStoreOptions> = {}): Promise<RuntimeError> => {
  const before = contents();
  const error = await open(options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(contents()).toEqual(before);
  if (!(error instanceof RuntimeError)) throw new Error(`It was not refused: ${String(error)}`);
  expect(error.message).toContain(options.path ?? path);
  expect(error.hint).toBeTruthy();
  return error;
};
const contents = () =>
  readdirSync(dirname(path), { recursive: true, withFileTypes: true }).map((entry) =>
    entry.isFile()
      ? `${entry.name} ${createHash('sha256')
          .update(readFileSync(`${entry.parentPath}/${entry.name}`))
          .digest('hex')}`
      : entry.name,
  );
const makeDatabase = (sql: string) => {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
};
const makeStore = async () => {
  const store = await open();
  const writer = await store.create('s', HEAD);
  for (let n = 0; n < 40; n++)
    await append(writer, { expectedSeq: n, events: [`{"x":"${'x'.repeat(2000)}"}`] });
  await store.close();
};

describe('a file that is not a store', () => {
  test('a text is refused as damaged', async () => {
    writeFileSync(
      path,
      'Dear diary, this is no database, and there is enough of it to fill a header of SQLite.\n'.repeat(9),
    );
    expect((await refusal()).code).toBe('store_damaged');
  });

  test('a few bytes are refused as damaged', async () => {
    writeFileSync(path, 'SQLite');
    expect((await refusal()).code).toBe('store_damaged');
  });

  test('the database of another program is refused as foreign', async () => {
    makeDatabase('CREATE TABLE diary (text); INSERT INTO diary VALUES (1)');
    expect((await refusal()).code).toBe('store_foreign');
  });

  test('the database of another program with an open journal is refused untouched', async () => {
    const db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE diary (text)');
    try {
      expect((await refusal()).code).toBe('store_foreign');
    } finally {
      db.close();
    }
  });

  test('a folder is refused as foreign', async () => {
    mkdirSync(path);
    expect(await refusal()).toMatchObject({
      code: 'store_foreign',
      message: `${path} is a folder, not a store of telltale.`,
    });
  });

  test('a device is refused as foreign', async () => {
    expect(await refusal({ path: '/dev/null' })).toMatchObject({
      code: 'store_foreign',
      message: '/dev/null is no ordinary file, not a store of telltale.',
    });
  });

  test('an empty file becomes a store', async () => {
    writeFileSync(path, '');
    await (await open()).close();
    await (await open()).close();
  });
});

describe('a store that cannot be used', () => {
  test('the thread hands on why it could not open the file', PATIENT, async () => {
    mkdirSync(path);
    const opening = openSqliteStore({ path, clock: createSystemClock(), pid: process.pid });
    await expect(opening).rejects.toMatchObject({
      code: 'store_foreign',
      message: expect.stringContaining(path),
      hint: expect.any(String),
    });
  });

  test('one of a newer version is refused untouched', async () => {
    await makeStore();
    makeDatabase('PRAGMA user_version = 99');
    const error = await refusal();
    expect(error.code).toBe('store_newer');
    expect(error.message).toContain('99');
  });

  test('one that was cut short is refused as damaged', async () => {
    await makeStore();
    truncateSync(path, 8192);
    expect((await refusal()).code).toBe('store_damaged');
  });

  test('one with its schema overwritten is refused as damaged', async () => {
    await makeStore();
    const bytes = readFileSync(path);
    bytes.fill(0x5a, 100, 4096);
    writeFileSync(path, bytes);
    expect((await refusal()).code).toBe('store_damaged');
  });

  test('one with a log that was overwritten says so when it is read, and others are served', async () => {
    const store = await open();
    const writer = await store.create('s', HEAD);
    const other = await store.create('t', HEAD);
    await append(other, { expectedSeq: 0, events: ['{"fine":true}'] });
    for (let n = 0; n < 40; n++)
      await append(writer, { expectedSeq: n, events: [`{"x":"${'x'.repeat(3000)}"}`] });
    await store.close();
    makeDatabase('DELETE FROM log WHERE id = 20');
    const again = await open();
    await expect(again.read('s')).rejects.toMatchObject({ code: 'store_damaged' });
    expect(await again.read('t')).toEqual(['{"fine":true}']);
    await again.close();
  });

  test('one that another program has locked is refused as locked, and can be opened afterwards', async () => {
    await makeStore();
    const db = new DatabaseSync(path);
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE t (x)');
    const error = await open({ lockTimeoutMs: 20 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'store_locked', retryable: true });
    db.exec('ROLLBACK');
    db.close();
    await (await open()).close();
  });

  test('one below a file is refused as unwritable', async () => {
    writeFileSync(folder.path('file'), 'x');
    expect((await refusal({ path: folder.path('file/store.db') })).code).toBe('store_unwritable');
  });

  test('one in a folder that may not be written is refused as unwritable', async () => {
    mkdirSync(folder.path('closed'));
    chmodSync(folder.path('closed'), 0o500);
    // root may write everywhere but into the kernel's own file system
    const isRoot = process.getuid?.() === 0;
    const options = { path: isRoot ? '/proc/telltale/store.db' : folder.path('closed/store.db') };
    expect((await refusal(options)).code).toBe('store_unwritable');
  });

  describe('that cannot be written', () => {
    /** Nor may anything be made beside it: what SQLite needs for writing leads nowhere, for root as well. */
    const shut = () => {
      symlinkSync(folder.path('nowhere/shm'), `${path}-shm`);
      appendFileSync(`${path}-wal`, '');
    };

    const stored = async () => {
      const store = await open();
      await append(await store.create('s', HEAD), { expectedSeq: 0, events: lines(2, 0) });
      await store.close();
    };

    test('is refused, but for those who only read it: they see all, and change nothing', async () => {
      await stored();
      shut();
      expect((await refusal()).code).toBe('store_unwritable');
      const before = contents();
      const store = await open({ mayOnlyRead: true });
      expect(await store.read('s')).toEqual(lines(2, 0));
      expect(await store.list()).toMatchObject([{ stream: 's', head: 2 }]);
      await expect(store.create('t', HEAD)).rejects.toMatchObject({ code: 'store_unwritable' });
      expect(await store.read('s')).toEqual(lines(2, 0));
      await store.close();
      expect(contents()).toEqual(before);
    });

    test('is read by a user who may not write its folder', async () => {
      await stored();
      chmodSync(path, 0o444);
      chmodSync(dirname(path), 0o555);
      const isRoot = process.getuid?.() === 0;
      // root may write everywhere: for the moment in which the file is opened this is somebody else
      if (isRoot) process.seteuid?.(NOBODY);
      const opening = open({ mayOnlyRead: true });
      if (isRoot) process.seteuid?.(0);
      const store = await opening;
      expect(await store.read('s')).toEqual(lines(2, 0));
      await store.close();
      chmodSync(dirname(path), 0o755);
    });

    test('is refused to them, too, where its journal holds more than it', async () => {
      await stored();
      const other = new DatabaseSync(path);
      other.exec("PRAGMA wal_autocheckpoint = 0; UPDATE streams SET title = 'newer'");
      copyFileSync(`${path}-wal`, folder.path('journal'));
      other.close();
      copyFileSync(folder.path('journal'), `${path}-wal`);
      shut();
      const error = await refusal({ mayOnlyRead: true });
      expect(error).toMatchObject({ code: 'store_unwritable', hint: expect.stringContaining('-wal') });
    });

    test('is not read on when somebody has written it meanwhile', async () => {
      await stored();
      shut();
      const store = await open({ mayOnlyRead: true });
      expect(await store.read('s')).toEqual(lines(2, 0));
      const now = new Date();
      utimesSync(path, now, new Date(now.getTime() + 1000));
      await expect(store.list()).rejects.toMatchObject({ code: 'store_locked', retryable: true });
      await store.close();
    });

    test('is not read where it is of an older version: it cannot be brought up to date', async () => {
      await stored();
      const other = new DatabaseSync(path);
      other.exec('PRAGMA user_version = 1');
      other.close();
      shut();
      expect((await refusal({ mayOnlyRead: true })).message).toContain('version 1');
    });

    test('is not made for those who only read it', async () => {
      const missing = '/proc/telltale/store.db';
      expect((await refusal({ path: missing, mayOnlyRead: true })).code).toBe('store_unwritable');
    });
  });

  test('one in folders that are missing is made with them', async () => {
    const deep = folder.path('a/b/store.db');
    await (await open({ path: deep })).close();
    expect(existsSync(deep)).toBe(true);
  });
});

describe('a stream that cannot be let go of since the file is locked', () => {
  test('is let go of once it is not, so that others can take it', PATIENT, async () => {
    const store = await open({ lockTimeoutMs: 20 });
    const writer = await store.create('t', HEAD);
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    await expect(writer.release()).rejects.toMatchObject({ code: 'store_locked' });
    other.exec('ROLLBACK');
    other.close();
    await expect
      .poll(async () => (await store.info('t'))?.owner, { timeout: PATIENT.timeout })
      .toBeUndefined();
    await (await store.acquire('t')).release();
    await store.close();
  });
});

describe('a disk without space', () => {
  test('appends fail with store_full, and the store goes on when there is space again', async () => {
    await makeStore();
    const store = await open({ maxPages: 60 });
    const writer = await store.create('t', HEAD);
    await append(writer, { expectedSeq: 0, events: lines(3, 0) });
    const big = `{"x":"${'x'.repeat(400_000)}"}`;
    const [failed, behind] = await Promise.all([
      outcome(writer, { expectedSeq: 3, events: [big] }),
      outcome(writer, { expectedSeq: 4, events: ['{"n":"behind"}'] }),
    ]);
    expect(failed).toMatchObject({ code: 'store_full', retryable: true });
    expect(behind).toMatchObject({ code: 'store_full' });
    expect(await outcome(writer, { expectedSeq: 5, events: ['{}'] })).toMatchObject({ code: 'store_full' });
    expect(await store.read('t')).toEqual(lines(3, 0));
    await append(writer, { expectedSeq: 3, events: ['{"n":"small"}'] });
    await append(writer, { expectedSeq: 4, events: ['{"n":"smaller"}'] });
    expect(await store.read('t', { from: 4 })).toEqual(['{"n":"small"}', '{"n":"smaller"}']);
    await store.close();
  });

  test('other requests fail with store_full, too, and reading goes on', async () => {
    await makeStore();
    const store = await open({ maxPages: 60 });
    await expect(store.tables.set('t', 'k', 'x'.repeat(400_000))).rejects.toMatchObject({
      code: 'store_full',
    });
    expect(await store.read('s')).toHaveLength(40);
    await store.tables.set('t', 'k', 'short');
    expect(await store.tables.get('t', 'k')).toBe('short');
    await store.close();
  });

  test(
    'what a limit on the size of files stops fails, is not there, and all before it is',
    PATIENT,
    async () => {
      // A process that may write files of 256 KiB only, which the kernel enforces.
      const script = fileURLToPath(new URL('./fixtures/until-it-fails.ts', import.meta.url));
      const command = `ulimit -f 256; exec "${process.execPath}" "${script}" "${path}"`;
      const { stdout, status } = spawnSync('bash', ['-c', command], { encoding: 'utf8' });
      expect(status).toBe(0);
      const { committed, code } = JSON.parse(stdout) as { committed: number; code: string };
      expect(code).toMatch(/^store_(full|failed)$/);
      const store = await open();
      expect((await store.read('s')).length).toBe(committed);
      await store.close();
    },
  );
});

describe('a file that goes away while it is open', () => {
  test('says which file it is and what to do where the way to it cannot be followed any more', async () => {
    const store = await open();
    renameSync(path, `${path}.moved`);
    symlinkSync(path, path);
    const refused = store.tables.set('t', 'k', 1);
    await expect(refused).rejects.toMatchObject({
      code: 'store_unwritable',
      message: expect.stringContaining(path),
      hint: expect.stringContaining('Check who owns the file and its folder'),
    });
    rmSync(path);
    renameSync(`${path}.moved`, path);
    await store.tables.set('t', 'k', 1);
    await store.close();
  });

  test('takes nothing more, is read as it was, and is written again once it is back', async () => {
    const store = await open();
    await store.tables.set('t', 'k', 1);
    renameSync(path, `${path}.moved`);
    await expect(store.tables.set('t', 'k', 2)).rejects.toMatchObject({ code: 'store_gone' });
    await expect(store.create('ses_1', HEAD)).rejects.toMatchObject({ code: 'store_gone' });
    writeFileSync(path, '');
    await expect(store.tables.set('t', 'k', 2)).rejects.toMatchObject({ code: 'store_gone' });
    expect(await store.tables.get('t', 'k')).toBe(1);
    rmSync(path);
    renameSync(`${path}.moved`, path);
    await store.tables.set('t', 'k', 3);
    await store.close();
  });
});
