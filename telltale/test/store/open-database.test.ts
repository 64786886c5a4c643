import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MIGRATIONS } from '../../src/store/sqlite/thread/migrations.ts';
import { openDatabase } from '../../src/store/sqlite/thread/serve-store.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

let folder: TemporaryFolder;
let path: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  path = folder.path('store.db');
});
afterEach(() => folder.remove());

const open = (settings: Partial<Parameters<typeof openDatabase>[0]> = {}) =>
  openDatabase({
    path,
    durability: 'power',
    lockTimeoutMs: 20,
    maxPages: null,
    mayOnlyRead: false,
    ...settings,
  }).db;
const pragma = (db: DatabaseSync, name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];

/** What SQLite calls them: FULL waits for the disk at each commit, NORMAL at checkpoints only. */
const [NORMAL, FULL] = [1, 2];

test.each([
  ['power', FULL, 1],
  ['process', NORMAL, 0],
] as const)('durability %s is what SQLite waits for at each commit', (durability, synchronous, fullfsync) => {
  const db = open({ durability });
  expect(['journal_mode', 'synchronous', 'fullfsync'].map((name) => pragma(db, name))).toEqual([
    'wal',
    synchronous,
    fullfsync,
  ]);
  db.close();
});

test('no commit is the one that has to bring the journal into the file', () => {
  const db = open();
  expect(pragma(db, 'wal_autocheckpoint')).toBe(0);
  db.close();
});

test('a limit of pages is the file’s; without one it grows as far as SQLite lets it', () => {
  const limited = open({ maxPages: 100 });
  expect(pragma(limited, 'max_page_count')).toBe(100);
  limited.close();
  const free = open();
  expect(pragma(free, 'max_page_count')).toBeGreaterThan(1_000_000_000);
  free.close();
});

test('a store of each earlier version is brought up to date, with all that is in it', () => {
  for (const [version] of MIGRATIONS.entries()) {
    if (version === 0) continue;
    const older = folder.path(`older${version}.db`);
    const made = open({ path: older });
    made.close();
    // Back to what that version had: only later migrations are undone.
    const db = new DatabaseSync(older);
    db.exec('ALTER TABLE log DROP COLUMN sums');
    if (version < 3) db.exec('ALTER TABLE heads DROP COLUMN due_at');
    if (version < 2)
      db.exec('DROP INDEX streams_by_name; DROP INDEX streams_by_kind; DROP INDEX streams_by_parent');
    db.exec(`INSERT INTO kv (tab, key, value) VALUES ('t', 'k', '1'); PRAGMA user_version = ${version}`);
    db.close();
    const again = open({ path: older });
    expect(pragma(again, 'user_version')).toBe(MIGRATIONS.length);
    expect(again.prepare('SELECT value FROM kv').all()).toEqual([{ value: '1' }]);
    expect(again.prepare('SELECT due_at FROM heads').all()).toEqual([]);
    expect(
      again.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name LIKE 'streams_by_%'").get(),
    ).toEqual({ n: 3 });
    again.close();
  }
});

test('a migration that fails half-way leaves the file as it was, and may be tried again', () => {
  open().close();
  const db = new DatabaseSync(path);
  // The second of three indexes is there already.
  db.exec(`DROP INDEX streams_by_name; DROP INDEX streams_by_parent; ALTER TABLE heads DROP COLUMN due_at;
    ALTER TABLE log DROP COLUMN sums;
    PRAGMA journal_mode = DELETE; PRAGMA user_version = 1`);
  db.close();
  const before = readFileSync(path);
  expect(() => open()).toThrow(/streams_by_kind/);
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(existsSync(`${path}-journal`)).toBe(false);
  const mended = new DatabaseSync(path);
  mended.exec('DROP INDEX streams_by_kind');
  mended.close();
  const again = open();
  expect(pragma(again, 'user_version')).toBe(MIGRATIONS.length);
  again.close();
});

/** Takes the file as one that nobody else has, and says what came of it. */
const ALONE = `
const { DatabaseSync } = require('node:sqlite');
try {
  new DatabaseSync(process.argv[1]).prepare('PRAGMA user_version').get();
  console.log('taken');
} catch (error) {
  console.log(error.message);
}
`;
const takenElsewhere = () =>
  execFileSync(process.execPath, ['-e', ALONE, `${pathToFileURL(path).href}?vfs=unix-excl`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();

test('a file that is opened twice in a process is not taken from it: what is committed there would be lost', () => {
  const first = open();
  pragma(first, 'user_version'); // from its first read on it has its lock
  expect(takenElsewhere()).toBe('database is locked');
  const second = open();
  expect(takenElsewhere()).toBe('database is locked');
  second.close();
  expect(takenElsewhere()).toBe('database is locked');
  first.close();
  expect(takenElsewhere()).toBe('taken');
});
