import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { onBehalfOf, userIdentity } from '../lib/ids.ts';
import type { Io } from './io.ts';
import { usage } from './options.ts';

/** Two folders up from here, in `src/`, in `dist/` and in the bundle. */
const MANIFEST = new URL('../../package.json', import.meta.url);

/** The package's version. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(MANIFEST, 'utf8')) as { readonly version: string }).version;
}

/** The folder of this package, with links resolved. */
export const packageFolder = (): string => dirname(fileURLToPath(MANIFEST));

/**
 * The environment with the variables of `.env` in `folder`. A variable that is set wins, and an empty one in the file
 * counts as missing, so that a copy of `.env.example` sets nothing.
 */
export function withEnvFile(env: Io['env'], folder: string): Io['env'] {
  let text: string;
  try {
    text = readFileSync(join(folder, '.env'), 'utf8');
  } catch {
    return env; // there is no such file, or it may not be read
  }
  const found = Object.entries(parseEnv(text)).filter(([, value]) => value !== '');
  return { ...Object.fromEntries(found), ...env };
}

/** Set by a launcher that knows what was typed, for the one process that it starts. */
export const PROGRAM_VARIABLE = 'TELLTALE_PROGRAM';

const INSTALLED = 'telltale';

/** How each package manager runs a program of the project that it has not put on the PATH of the user's shell. */
const RUNNERS: Readonly<Record<string, string>> = {
  npm: 'npx telltale',
  pnpm: 'pnpm exec telltale',
  yarn: 'yarn telltale',
  bun: 'bunx telltale',
};

/**
 * What a person types to start this program again. `script` is the path that Node was given: a package manager starts the
 * one in node_modules, where the user's own shell does not look.
 */
export function programTyped(env: Readonly<Record<string, string | undefined>>, script = ''): string {
  const told = env[PROGRAM_VARIABLE];
  if (told !== undefined && /^[\x20-\x7e]+$/.test(told)) return told;
  if (!/[\\/]node_modules[\\/]/.test(script)) return INSTALLED;
  if (env.NODE_RUN_SCRIPT_NAME !== undefined) return RUNNERS.npm ?? INSTALLED;
  const manager = /^\w+/.exec(env.npm_config_user_agent ?? '')?.[0] ?? '';
  return RUNNERS[manager] ?? INSTALLED;
}

/** How records sign what a command does: the user of the operating system, whatever the environment says. */
export function signer(): string {
  const info = accountOf();
  return userIdentity(info.username === '' ? `uid ${info.uid}` : info.username);
}

/** The same where an option of the command line names somebody: a claim, which stands behind who makes it. */
export function signerFor(named: string | undefined, option = '--by'): string {
  if (named === undefined) return signer();
  if (named.trim() === '') throw usage(`${option} names nobody.`, `Write ${option} ann, or leave it out.`);
  const own = signer();
  return named === own || userIdentity(named) === own ? own : onBehalfOf(own, named);
}

/** A process may run under a number that has no name. */
function accountOf(): { readonly username: string; readonly uid: number } {
  try {
    const { username, uid } = userInfo();
    return { username, uid };
  } catch (thrown) {
    const { info } = thrown as { readonly info?: { readonly code?: string } };
    if (info?.code === undefined) throw thrown;
    return { username: '', uid: process.getuid?.() ?? -1 };
  }
}
