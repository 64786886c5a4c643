import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import process from 'node:process';
import { findSandbox } from '../../targets/process/find-sandbox.ts';
import type { Io } from '../io.ts';
import type { Machine } from './check.ts';

const ASK_MS = 5_000;
const WINDOWS_ENDINGS = ['.exe', '.cmd', ''];

/** The machine that this process runs on. */
export function processMachine({ env, cwd }: Pick<Io, 'env' | 'cwd'>): Machine {
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => folder !== '');
  const endings = process.platform === 'win32' ? WINDOWS_ENDINGS : [''];
  const requires = [createRequire(import.meta.url), createRequire(join(cwd, 'package.json'))];
  return {
    platform: process.platform,
    node: { version: process.versions.node, path: process.execPath },
    temporaryFolder: tmpdir(),
    findProgram: (names) =>
      names
        .flatMap((name) => (isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name))))
        .flatMap((path) => endings.map((ending) => path + ending))
        .find(isExecutable),
    ask: (program, args) =>
      new Promise((resolve) => {
        const options = { timeout: ASK_MS, env: { ...env } as NodeJS.ProcessEnv };
        execFile(program, [...args], options, (error, stdout, stderr) =>
          resolve(error === null ? ((stdout || stderr).split('\n')[0] ?? '').trim() : undefined),
        );
      }),
    sandbox: () => findSandbox(env),
    hasPackage: (name) => requires.some((require) => canResolve(require, name)),
    async reach(url, timeoutMs) {
      try {
        const answer = await fetch(url, {
          method: 'HEAD',
          redirect: 'manual',
          signal: AbortSignal.timeout(timeoutMs),
        });
        await answer.body?.cancel();
        return answer.status;
      } catch {
        return undefined; // Not there, or not in time: that is the answer.
      }
    },
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function canResolve(require: NodeJS.Require, name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}
