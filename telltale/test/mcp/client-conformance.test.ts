import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { shellWord } from '../../src/cli/options.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';

const require = createRequire(import.meta.url);
const SUITE = require.resolve('@modelcontextprotocol/conformance/dist/index.js');
const CLIENT = fileURLToPath(new URL('conformance-client.ts', import.meta.url));
const LIST = readFileSync(new URL('client-conformance.yml', import.meta.url), 'utf8');
const listed = (parse(LIST) as { readonly client: readonly string[] }).client;

/** Runs scenarios of the published suite, which starts our client for each; says which have passed. */
async function suite(folder: string, ...args: readonly string[]) {
  const child = spawn(
    process.execPath,
    [
      SUITE,
      'client',
      '--command',
      [process.execPath, CLIENT].map(shellWord).join(' '), // the suite hands it to a shell
      '--timeout',
      '90000',
      '-o',
      folder,
      ...args,
    ],
    // Our own sources, compiled by the first of the clients, are not compiled again by the others.
    {
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(folder, 'compiled') },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  const outcomes = [...output.matchAll(/^([✓✗]) (\S+): /gm)].map(
    ([, sign, name]) => [name ?? '', sign === '✓'] as const,
  );
  return { code, output, outcomes: new Map(outcomes) };
}

test('every entry of the list has its reason', () => {
  const entries = LIST.split('\n').filter((line) => /^ +- /.test(line));
  expect(entries).toHaveLength(listed.length);
  for (const entry of entries) expect(entry).toMatch(/^ {2}- \S+ # \S.{10,}/);
});

test('the published suite finds nothing wrong with the client, but for what is listed', {
  timeout: 120_000,
}, async () => {
  const folder = temporaryProject();
  // By itself: it measures how long we wait, and a busy machine is late.
  const TIMED = 'sse-retry';
  let alone = await suite(folder, '--scenario', TIMED);
  for (let tries = 1; alone.code !== 0 && tries < 3; tries++)
    alone = await suite(folder, '--scenario', TIMED);
  expect(alone.code, alone.output).toBe(0);

  const { outcomes, output } = await suite(folder, '--suite', 'all');
  expect(outcomes.size, output).toBeGreaterThan(20);
  const failed = [...outcomes].flatMap(([name, passed]) => (passed || name === TIMED ? [] : [name]));
  expect(failed.toSorted()).toEqual([...listed].toSorted());
  for (const file of globSync('{initialize,tools_call}-*/stderr.txt', { cwd: folder }))
    expect(readFileSync(join(folder, file), 'utf8')).toBe('');
});
