import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { recordedIo } from './recorded-io.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'out-of-reach-'));
  // A folder without the right to look into it would do as well, for everybody but root.
  symlinkSync('there.db', join(folder, 'here.db'));
  symlinkSync('here.db', join(folder, 'there.db'));
});
afterAll(() => rmSync(folder, { recursive: true }));

it.each([
  'sessions',
  'reviews',
  'workflow list',
  'token list',
  'show last',
  'store check',
  'store export out.jsonl',
  'store import - --dry-run',
  'memory stats',
])('%s: a store that cannot be looked at is not taken for one that is not there', async (command) => {
  const io = recordedIo({ cwd: folder });
  expect(await main([...command.split(' '), '--store', 'here.db'], io)).toBe(1);
  expect(io.out()).toBe('');
  expect(io.err()).toContain(`${join(folder, 'here.db')} cannot be written: ELOOP`);
  expect(io.err()).toContain('Check who owns the file and its folder, or give another path.');
});
