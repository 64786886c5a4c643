import { spawn } from 'node:child_process';
import { arch, platform } from 'node:os';
import type { Writable } from 'node:stream';
import type { ProcessEnvironment } from './child-environment.ts';
import { findLimiter, type Limiter } from './sandbox-limits.ts';
import { SYSTEM_MOUNTS } from './sandbox-mounts.ts';
import { seccompFilter } from './seccomp-filter.ts';

/** Whether commands can be sandboxed on this machine. */
export type SandboxAvailability =
  | {
      readonly found: true;
      readonly program: string;
      readonly version: string;
      /** The filter of system calls. Undefined if bubblewrap or this machine does not support one. */
      readonly seccomp: Uint8Array | undefined;
      readonly limiter: Limiter;
    }
  | { readonly found: false; readonly reason: string };

export type FindSandbox = () => Promise<SandboxAvailability>;

/**
 * The arguments of every sandbox: its own namespaces with no network but loopback, no capabilities (one with
 * capabilities could undo the mounts), the whole system read-only, and processes that end with ours.
 */
export const SANDBOX_BASE: readonly string[] = [
  '--unshare-user',
  '--unshare-ipc',
  '--unshare-pid',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--unshare-net',
  '--cap-drop',
  'ALL',
  '--die-with-parent',
  '--new-session',
  '--ro-bind',
  '/',
  '/',
  ...SYSTEM_MOUNTS,
];

/** bubblewrap reads the filter of system calls from this file descriptor. */
export const SECCOMP: readonly string[] = ['--seccomp', '3'];

const PROGRAM = 'bwrap';
const TRIAL_MS = 5_000;
const MAX_SAID = 500;

/** Tries bubblewrap out, because in many containers it is installed but may not work. */
export async function findSandbox(env: ProcessEnvironment): Promise<SandboxAvailability> {
  if (platform() !== 'linux')
    return { found: false, reason: `bubblewrap needs Linux, but this is ${platform()}` };
  const asked = await tryBubblewrap(['--version'], env);
  if (asked.code === 'missing') return { found: false, reason: 'bubblewrap (bwrap) is not installed' };
  const trial = ['--tmpfs', '/tmp', '--', '/bin/sh', '-c', ':'];
  const { code, said } = await tryBubblewrap([...SANDBOX_BASE, ...trial], env);
  if (code === 0) {
    const version = asked.said.replace(/^\D+/, '');
    const filter = seccompFilter(arch());
    const filtered =
      filter === undefined
        ? undefined
        : await tryBubblewrap([...SANDBOX_BASE, ...SECCOMP, ...trial], env, filter);
    const seccomp = filtered?.code === 0 ? filter : undefined;
    return { found: true, program: PROGRAM, version, seccomp, limiter: await findLimiter() };
  }
  return {
    found: false,
    reason: `bwrap does not work here: ${said === '' ? `it ended with ${code}` : said}`,
  };
}

/** Searches once, at the first call. */
export function createSandboxFinder(env: ProcessEnvironment): FindSandbox {
  let found: Promise<SandboxAvailability> | undefined;
  return () => {
    found ??= findSandbox(env);
    return found;
  };
}

function tryBubblewrap(
  args: readonly string[],
  env: ProcessEnvironment,
  filter?: Uint8Array,
): Promise<{ readonly code: number | string; readonly said: string }> {
  return new Promise((resolve) => {
    let said = '';
    const child = spawn(PROGRAM, args, {
      env: { PATH: env.PATH },
      stdio: filter === undefined ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'pipe', 'pipe', 'pipe'],
      timeout: TRIAL_MS,
      killSignal: 'SIGKILL',
    });
    const hear = (chunk: Buffer) => {
      if (said.length < MAX_SAID) said += chunk.toString('utf8');
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    const extra = child.stdio[3] as Writable | null | undefined;
    extra?.on('error', () => undefined); // a program that does not read it reports an error of its own
    extra?.end(filter);
    child.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ code: error.code === 'ENOENT' ? 'missing' : (error.code ?? 'error'), said: error.message }),
    );
    child.once('close', (code, signal) =>
      resolve({ code: code ?? signal ?? 'nothing', said: said.trim().replace(/^bwrap: /, '') }),
    );
  });
}
