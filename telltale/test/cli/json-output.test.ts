import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { recordedIo } from './recorded-io.ts';

/** A control sequence introducer of one character, which JSON leaves as it is, and a mark that turns the text around. */
const HOSTILE = 'a\u009b31m\u202eb';
const STEERING = /[\u007f-\u009f\u202a-\u202e]/;

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'json-output-'));
  writeFileSync(join(cwd, 'agent.yml'), `kind: Agent\nname: "${HOSTILE}"\nmodel: scripted:./turns.yml\n`);
});
afterAll(() => rmSync(cwd, { recursive: true }));

it.each([
  ['an error', [HOSTILE, '--json'], 2],
  ['what is wrong with a manifest', ['validate', 'agent.yml', '--json'], 2],
  ['a manifest that cannot be run', ['run', 'agent.yml', 'go', '--json', '--store', 'memory'], 2],
  ['what is heard in a transcript', ['parse'], 0],
  ['what is heard in it piece by piece', ['parse', '--chunk', '100'], 0],
])('%s as JSON says everything, and cannot steer a terminal', async (_, command, code) => {
  const io = recordedIo({ cwd, stdin: `<response>${HOSTILE}</response>` });
  expect(await main(command, io)).toBe(code);
  const lines = command[0] === 'parse' ? io.out().trim().split('\n') : [io.out()];
  expect(lines.map((line) => JSON.stringify(JSON.parse(line))).join()).toContain('a\u009b31m\u202eb');
  expect(io.out()).not.toMatch(STEERING);
});
