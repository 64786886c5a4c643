import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createConsumer, type Packed, pack, run } from './packed.ts';

let folder: string;
let packed: Packed;
let project: string;

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-init-')));
  packed = await pack(folder);
  const consumer = await createConsumer(folder, packed);
  const bin = join(consumer, 'node_modules', 'telltale', 'bin', 'telltale.js');
  project = join(folder, 'my first agent');
  const made = await run(process.execPath, [bin, 'init', 'my first agent', '--yes'], folder);
  expect({ code: made.code, output: made.output }).toMatchObject({ code: 0 });
  const installed = await run(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', packed.tarball],
    project,
  );
  expect({ code: installed.code, output: installed.code === 0 ? '' : installed.output }).toMatchObject({
    code: 0,
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a project that init made runs at once', async () => {
  const { code, output } = await run('npm', ['start'], project);
  expect({ code, output }).toMatchObject({
    code: 0,
    output: expect.stringMatching(/README\.md has \d+ words/),
  });
});

test('its workflow goes off beside the agent, and really writes a file', () => {
  expect(readFileSync(join(project, 'reading-log.md'), 'utf8')).toContain(
    'first\n\n- README.md, in turn 1\n',
  );
});

test('and passes its test', async () => {
  const { code, output } = await run('npm', ['test'], project);
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringMatching(/pass 2\b/) });
});
