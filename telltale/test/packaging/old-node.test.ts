import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findNewerNode, isAtLeast, MINIMUM_NODE } from '../../bin/node-version.js';
import { root, run } from './packed.ts';

const OLD = '20.19.0';
const pretendToBeOld = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${OLD}'}})`;

test('package.json asks for the Node that the command line asks for', () => {
  const { engines } = JSON.parse(readFileSync(join(root, 'telltale', 'package.json'), 'utf8'));
  expect(`${engines.node}.0`).toBe(`>=${MINIMUM_NODE}`);
});

test('every package that comes with Telltale runs on that Node', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  type Locked = { engines?: { node?: string }; dev?: boolean; optional?: boolean };
  const packages = Object.entries(lock.packages as Record<string, Locked>).filter(
    ([path, { dev, optional }]) => path.includes('node_modules/') && !dev && !optional,
  );
  expect(packages.length).toBeGreaterThan(100);
  const wanting = packages
    .map(([path, { engines }]) => [path, engines?.node ?? '*'] as const)
    .filter(([, range]) => !allows(range, MINIMUM_NODE));
  expect(wanting).toEqual([]);
  expect(allows('>=22.15.0', '22.13.0')).toBe(false);
});

/** Whether a range of versions as in `engines` holds this one: alternatives of a lower bound, or of a major. */
const allows = (range: string, version: string): boolean =>
  range.split('||').some((alternative) => {
    const [, operator = '', bound = ''] = /^\s*(>=|>|\^|~)?\s*v?([\d.x*]*)/.exec(alternative) ?? [];
    const [major = '0', minor = '0', patch = '0'] = bound.replaceAll(/[x*]/g, '0').split('.');
    if (!isAtLeast(version, `${major}.${minor}.${patch}`)) return false;
    return operator !== '^' || version.startsWith(`${major}.`);
  });

test('importing Telltale on an old Node says which one it needs, before anything else', async () => {
  const { code, output } = await run(
    process.execPath,
    ['--import', pretendToBeOld, '--input-type=module', '-e', "await import('telltale')"],
    root,
  );
  expect(code).not.toBe(0);
  expect(output).toContain(
    `Error: Telltale needs Node ${MINIMUM_NODE} or newer, and this is Node ${OLD}: install a newer one from https://nodejs.org.`,
  );
});

test.each([
  ['22.15.0', true],
  ['v22.15.0\n', true],
  ['22.15.1', true],
  ['22.12.9', false],
  ['23.0.0', true],
  ['v24.1.0-nightly', true],
  ['9.99.99', false],
  ['', false],
  ['latest', false],
])('Node %j is new enough: %s', (version, expected) => {
  expect(isAtLeast(version, MINIMUM_NODE)).toBe(expected);
});

describe('the command line started by an old Node', () => {
  let folder: string;
  let bin: string;

  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale old node-')));
    const home = join(folder, 'node_modules', 'telltale');
    cpSync(join(root, 'telltale', 'bin'), join(home, 'bin'), { recursive: true });
    mkdirSync(join(home, 'dist', 'cli'), { recursive: true });
    writeFileSync(join(home, 'package.json'), '{"name":"telltale","type":"module"}');
    writeFileSync(
      join(home, 'dist', 'cli', 'start.js'),
      `export async function start(argv) {
         console.log(process.versions.node, JSON.stringify(argv), Object.keys(process.env).filter((key) => key.startsWith('TELLTALE_')).length);
         return 3;
       }`,
    );
    bin = join(home, 'bin', 'telltale.js');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const start = (...args: readonly string[]) =>
    run(process.execPath, ['--import', pretendToBeOld, bin, ...args], folder);

  test('says in three lines what is wrong, where, and what to do, and ends with 2', async () => {
    const { code, stdout, output } = await start('--version');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(output.trimEnd().split('\n')).toEqual([
      `telltale needs Node ${MINIMUM_NODE} or later; this is Node ${OLD}.`,
      `  at ${process.execPath}`,
      'Install a newer Node from https://nodejs.org, then run the command again.',
    ]);
  });

  test('goes on with a newer Node near by, with the same arguments and exit code', async () => {
    mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true });
    symlinkSync(process.execPath, join(folder, 'node_modules', '.bin', 'node'));
    expect(findNewerNode(join(folder, 'node_modules', 'telltale', 'bin'))).toBe(
      join(folder, 'node_modules', '.bin', 'node'),
    );
    expect(await start('run', 'a b', '--x')).toMatchObject({
      code: 3,
      output: `${process.versions.node} ["run","a b","--x"] 0\n`,
    });
  });
});
