import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { storeFlag } from '../../src/cli/session/store-options.ts';

test.each([
  './log.db',
  './my project/log.db',
  './$HOME/log.db',
  './`id`.db',
  "./it's.db",
  './*.db',
  'C:\\logs\\a.db',
])('a command that is shown with the store %s can be pasted into a shell', (store) => {
  const said = execFileSync('sh', ['-c', `printf '%s\\n'${storeFlag(store)}`], { encoding: 'utf8' });
  expect(said.split('\n')).toEqual(['--store', store, '']);
});

test('the store that is taken anyway, and the password of a database, are left out', () => {
  expect(storeFlag(undefined)).toBe('');
  expect(storeFlag('postgres://me:secret@db/x')).toBe(' --store postgres://me@db/x');
});
