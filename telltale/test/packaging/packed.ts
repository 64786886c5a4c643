import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
const onWindows = process.platform === 'win32';

export interface Run {
  readonly code: number;
  readonly stdout: string;
  /** Both streams. */
  readonly output: string;
}

/** Runs a program to its end, whatever the end; npm and npx run on the Node of this test. */
export async function run(command: string, args: readonly string[], cwd: string): Promise<Run> {
  const PATH = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`;
  const options = {
    cwd,
    env: { ...process.env, PATH, npm_config_update_notifier: 'false' },
    shell: onWindows,
  };
  return promisify(execFile)(command, [...args], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, output: stdout + stderr }),
    (failure: { readonly code?: number | string; readonly stdout?: string; readonly stderr?: string }) => ({
      code: typeof failure.code === 'number' ? failure.code : 127,
      stdout: failure.stdout ?? '',
      output: `${failure.stdout ?? ''}${failure.stderr ?? ''}`,
    }),
  );
}

export const runNode = (script: string, args: readonly string[], cwd: string) =>
  run(process.execPath, [join(root, 'node_modules', script), ...args], cwd);

export interface Packed {
  readonly tarball: string;
  /** The paths in the tarball, sorted, without the leading `package/`. */
  readonly files: readonly string[];
}

/** `npm pack` of a package of this repository into `folder`, with its own build. */
export async function pack(folder: string, of = 'telltale'): Promise<Packed> {
  succeed(await run('npm', ['pack', '--pack-destination', folder], join(root, of)));
  const name = readdirSync(folder).find((file) => file.startsWith(`${of}-`) && file.endsWith('.tgz'));
  if (name === undefined) throw new Error(`npm pack left no tarball in ${folder}.`);
  const tarball = join(folder, name);
  const { output } = succeed(await run('tar', ['-tf', tarball], folder));
  const files = output.split('\n').filter((line) => line !== '');
  return { tarball, files: files.map((line) => line.replace(/^package\//, '').trim()).sort() };
}

/** An empty project in `folder` that has installed the tarballs as their users would. */
export async function createConsumer(folder: string, ...packages: readonly Packed[]): Promise<string> {
  const consumer = join(folder, 'a consumer');
  mkdirSync(consumer);
  writeFileSync(join(consumer, 'package.json'), '{"name":"consumer","private":true,"type":"module"}');
  const tarballs = packages.map(({ tarball }) => tarball);
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', ...tarballs];
  succeed(await run('npm', install, consumer));
  return consumer;
}

function succeed(ended: Run): Run {
  if (ended.code !== 0) throw new Error(`Exit code ${ended.code}:\n${ended.output}`);
  return ended;
}
