import { existsSync, symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeFailure, isOfOneStatement } from '../../src/store/sqlite/sqlite-errors.ts';
import { temporaryFolder } from './temporary-folder.ts';

const system = (code: string) => Object.assign(new Error(code), { code });
const sqlite = (errcode: number) =>
  Object.assign(new Error('of SQLite'), { code: 'ERR_SQLITE_ERROR', errcode });

test.each([
  ['a full disk', system('ENOSPC'), 'store_full'],
  ['an exceeded quota', system('EDQUOT'), 'store_full'],
  ['a read-only file system', system('EROFS'), 'store_unwritable'],
  ['SQLITE_FULL', sqlite(13), 'store_full'],
  ['SQLITE_BUSY_SNAPSHOT', sqlite(517), 'store_locked'],
  ['SQLITE_CORRUPT_INDEX', sqlite(779), 'store_damaged'],
  ['SQLITE_NOTADB', sqlite(26), 'store_damaged'],
  ['SQLITE_READONLY_DBMOVED', sqlite(1032), 'store_unwritable'],
  ['SQLITE_NOMEM', sqlite(7), 'store_failed'],
  ['an I/O error with space left', sqlite(778), 'store_failed'],
  ['anything else', new Error('unheard of'), 'store_failed'],
])('%s is named', (_, thrown, code) => {
  const error = describeFailure('/nowhere/store.db', 100, thrown);
  expect(error).toMatchObject({ code, cause: thrown });
  expect(error.message).toContain('/nowhere/store.db');
});

test('a value too big or a broken constraint is one statement’s own fault, a full disk is not', () => {
  expect([sqlite(18), sqlite(1555), new TypeError('cannot be bound')].map(isOfOneStatement)).toEqual([
    true,
    true,
    true,
  ]);
  expect([sqlite(13), sqlite(10), sqlite(5), sqlite(11)].map(isOfOneStatement)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test('an I/O error where nothing more can be written is a full disk, and nothing is left of the attempt', async () => {
  const folder = await temporaryFolder();
  try {
    const path = folder.path('store.db');
    symlinkSync('/dev/full', `${path}-probe`);
    expect(describeFailure(path, 100, sqlite(7)).code).toBe('store_failed');
    expect(describeFailure(path, 100, sqlite(778))).toMatchObject({ code: 'store_full', retryable: true });
    expect(existsSync(`${path}-probe`)).toBe(false);
    expect(describeFailure(path, 100, sqlite(778)).code).toBe('store_failed');
    expect(existsSync(`${path}-probe`)).toBe(false);
  } finally {
    await folder.remove();
  }
});
