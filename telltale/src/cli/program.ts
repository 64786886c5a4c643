import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { onBehalfOf, userIdentity } from '../lib/ids.ts';
import type { Io } from './io.ts';
import { usage } from './options.ts';

/** This path is right from `src/`, from `dist/` and from the bundle. */
const MANIFEST = new URL('../../package.json', import.meta.url);

export function packageVersion(): string {
  return (JSON.parse(readFileSync(MANIFEST, 'utf8')) as { readonly version: string }).version;
}

/** The folder of this package, with symbolic links resolved. */
export const packageFolder = (): string => dirname(fileURLToPath(MANIFEST));

/**
 * The environment plus the variables of `.env` in `folder`. A variable that is already set wins. An empty variable in
 * the file counts as missing, so a copy of `.env.example` sets nothing.
 */
export function withEnvFile(env: Io['env'], folder: string): Io['env'] {
  let text: string;
  try {
    text = readFileSync(join(folder, '.env'), 'utf8');
  } catch {
    return env; // The file does not exist, or it may not be read.
  }
  const found = Object.entries(parseEnv(text)).filter(([, value]) => value !== '');
  return { ...Object.fromEntries(found), ...env };
}

/** A launcher that knows what the user typed sets this variable for the one process that it starts. */
export const PROGRAM_VARIABLE = 'TELLTALE_PROGRAM';

const INSTALLED = 'telltale';

/** How each package manager runs a program of the project that is not on the PATH. */
const RUNNERS: Readonly<Record<string, string>> = {
  npm: 'npx telltale',
  pnpm: 'pnpm exec telltale',
  yarn: 'yarn telltale',
  bun: 'bunx telltale',
};

/**
 * What the user types to start this program again. `script` is the path that Node was given. If it is in node_modules,
 * a package manager started it, and the user's shell would not find it.
 */
export function programTyped(env: Readonly<Record<string, string | undefined>>, script = ''): string {
  const told = env[PROGRAM_VARIABLE];
  if (told !== undefined && /^[\x20-\x7e]+$/.test(told)) return told;
  if (!/[\\/]node_modules[\\/]/.test(script)) return INSTALLED;
  if (env.NODE_RUN_SCRIPT_NAME !== undefined) return RUNNERS.npm ?? INSTALLED;
  const manager = /^\w+/.exec(env.npm_config_user_agent ?? '')?.[0] ?? '';
  return RUNNERS[manager] ?? INSTALLED;
}

/** The name under which records sign a command: the operating system's user, whatever the environment says. */
export function signer(): string {
  const info = accountOf();
  return userIdentity(info.username === '' ? `uid ${info.uid}` : info.username);
}

/**
 * The same, if an option of the command line names somebody. That name is a claim, so the record also says who made it.
 */
export function signerFor(named: string | undefined, option = '--by'): string {
  if (named === undefined) return signer();
  if (named.trim() === '') throw usage(`${option} names nobody.`, `Write ${option} ann, or leave it out.`);
  const own = signer();
  return named === own || userIdentity(named) === own ? own : onBehalfOf(own, named);
}

/** A process may run under a user id without a name. */
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
