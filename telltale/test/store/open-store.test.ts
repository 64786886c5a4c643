import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { PATIENT } from './eventually.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const clock = createSystemClock();
let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

test('memory is a store without a file', async () => {
  expect((await openStore('memory', { clock })).location).toBe('memory');
});

test('sqlite:PATH and a path alone are files, relative to the folder given', PATIENT, async () => {
  const cwd = dirname(folder.path('x'));
  for (const [location, file] of [
    ['sqlite:./one.db', 'one.db'],
    ['data/two.db', 'data/two.db'],
  ] as const) {
    await (await openStore(location, { clock, cwd, pid: process.pid })).close();
    expect(existsSync(folder.path(file))).toBe(true);
  }
});

test.each(['sqlite:', 'sqlite::memory:', '', 'mysql:x'])(
  '"%s" is refused with what can be given instead',
  async (location) => {
    await expect(openStore(location, { clock })).rejects.toMatchObject({
      code: 'store_unknown',
      hint: expect.stringContaining('memory'),
    });
  },
);
