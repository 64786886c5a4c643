import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import process from 'node:process';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { KnownProvider } from '../../models/providers/known-providers.ts';
import { findSandbox, type SandboxAvailability } from '../../tools/process/find-sandbox.ts';
import type { CommandContext } from '../command.ts';
import type { Io } from '../io.ts';
import { isDatabase, shownLocation, storeLocation } from '../session/store-options.ts';

/**
 * Writes to a store of its own with the durability that runs use. Then checks whether the default store could be
 * written.
 */
export const checkStore: DoctorCheck = async (context) => [
  await tryStore(context),
  await storeInReach(context),
];

async function tryStore({ io, runtimes, machine }: DoctorContext): Promise<DoctorFinding> {
  const name = 'Store';
  const { cwd, clock } = io;
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(machine.temporaryFolder, 'telltale-doctor-'));
    const store = await runtimes.openStore(`sqlite:${join(folder, 'try.db')}`, {
      cwd,
      clock,
      durability: 'power',
    });
    const began = clock.monotonic();
    await store.tables.set('doctor', 'written', true);
    const ms = clock.monotonic() - began;
    const isThere = (await store.tables.get('doctor', 'written')) === true;
    await store.close();
    if (!isThere) return { name, status: 'fail', detail: 'SQLite does not keep what Telltale writes.' };
    return {
      name,
      status: 'ok',
      detail: `SQLite writes, and waits for the disk (fsync): ${ms.toFixed(1)} ms`,
    };
  } catch (thrown) {
    const { message, hint } =
      thrown instanceof RuntimeError ? thrown : { message: String(thrown), hint: undefined };
    const fix = hint ?? `Free some space in ${machine.temporaryFolder}, or set TMPDIR to another folder.`;
    return { name, status: 'fail', detail: message, fix };
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function storeInReach(context: DoctorContext): Promise<DoctorFinding> {
  const { io } = context;
  const name = 'Sessions';
  const location = storeLocation(undefined, io);
  if (isDatabase(location)) return databaseInReach(context, location);
  if (!location.startsWith('sqlite:')) return { name, status: 'ok', detail: `kept in ${location}` };
  const file = resolve(io.cwd, location.slice('sqlite:'.length));
  const near = nearestFolder(dirname(file));
  if (!mayWrite(existsSync(file) ? file : near) || !statSync(near).isDirectory())
    return {
      name,
      status: 'fail',
      detail: `${file} cannot be written`,
      fix: 'Go to a folder that you may write to, or set TELLTALE_STORE to a file elsewhere.',
    };
  return { name, status: 'ok', detail: existsSync(file) ? `kept in ${file}` : `will be kept in ${file}` };
}

/** Opens the database as a worker would. It creates no tables in a new one: the first run does. */
async function databaseInReach({ io, runtimes }: DoctorContext, location: string): Promise<DoctorFinding> {
  const name = 'Sessions';
  const { cwd, clock } = io;
  try {
    const store = await runtimes.openStore(location, { cwd, clock, durability: 'power', mustExist: true });
    try {
      const began = clock.monotonic();
      await store.list({ limit: 1 });
      const ms = clock.monotonic() - began;
      return { name, status: 'ok', detail: `kept in ${store.location}: answers in ${ms.toFixed(1)} ms` };
    } finally {
      await store.close();
    }
  } catch (thrown) {
    const { code, message, hint } = toRuntimeError(thrown);
    if (code === 'store_empty') return { name, status: 'ok', detail: willBeKept(location) };
    return { name, status: 'fail', detail: message, ...(hint === undefined ? {} : { fix: hint }) };
  }
}

const willBeKept = (location: string) =>
  `will be kept in ${shownLocation(location)}, which answers; the first run creates the tables`;

/** The folder, or its nearest ancestor that exists. */
function nearestFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder));
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

interface WantedProgram {
  readonly name: string;
  /** What does not work without it. */
  readonly for: string;
  readonly programs: readonly string[];
  readonly version: readonly string[];
  readonly debian: string;
  readonly homebrew?: string;
  /** Platforms on which it is not used. */
  readonly notOn?: readonly string[];
  /** A call that proves that it works on this machine. */
  readonly trial?: readonly string[];
}

const DEBIAN_POSTGRES = [18, 17, 16, 15, 14].map((major) => `/usr/lib/postgresql/${major}/bin/postgres`);

const PROGRAMS: readonly WantedProgram[] = [
  {
    name: 'git',
    for: 'the tool git',
    programs: ['git'],
    version: ['--version'],
    debian: 'git',
    homebrew: 'git',
  },
  {
    name: 'Browser',
    for: 'tests of the console',
    programs: [
      'chromium',
      'chromium-browser',
      'google-chrome',
      'google-chrome-stable',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    ],
    version: ['--version'],
    debian: 'chromium',
    homebrew: '--cask google-chrome',
  },
  {
    name: 'PostgreSQL',
    for: 'a store of a fleet on this machine',
    programs: ['postgres', 'psql', ...DEBIAN_POSTGRES],
    version: ['--version'],
    debian: 'postgresql',
    homebrew: 'postgresql',
  },
  {
    name: 'Redis',
    for: 'relics of the driver redis on this machine',
    programs: ['redis-server', 'valkey-server'],
    version: ['--version'],
    debian: 'redis-server',
    homebrew: 'redis',
  },
  {
    name: 'bubblewrap',
    for: 'commands in a sandbox',
    programs: ['bwrap'],
    version: ['--version'],
    debian: 'bubblewrap',
    notOn: ['win32', 'darwin'],
    trial: ['--ro-bind', '/', '/', '--unshare-pid', 'true'],
  },
];

const checkPrograms: DoctorCheck = ({ machine }: DoctorContext) =>
  Promise.all(
    PROGRAMS.filter(({ notOn = [] }) => !notOn.includes(machine.platform)).map((wanted) =>
      checkProgram(wanted, machine),
    ),
  );

async function checkProgram(wanted: WantedProgram, machine: DoctorMachine): Promise<DoctorFinding> {
  const { name } = wanted;
  const path = machine.findProgram(wanted.programs);
  const install = installation(wanted, machine);
  if (path === undefined)
    return { name, status: 'warn', detail: `not found; needed for ${wanted.for}`, ...install };
  const version = await machine.ask(path, wanted.version);
  if (version === undefined)
    return { name, status: 'warn', detail: `${path} does not run; needed for ${wanted.for}`, ...install };
  if (wanted.trial !== undefined && (await machine.ask(path, wanted.trial)) === undefined)
    return {
      name,
      status: 'warn',
      detail: `${version}, but it cannot create a sandbox here`,
      fix: 'Allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1',
    };
  if (wanted.trial !== undefined && machine.sandbox !== undefined)
    return inForce(name, `${version} (${path})`, await machine.sandbox());
  return { name, status: 'ok', detail: `${version} (${path})` };
}

/** What the sandbox enforces here, besides files and network. */
function inForce(name: string, program: string, sandbox: SandboxAvailability): DoctorFinding {
  if (!sandbox.found) return { name, status: 'warn', detail: `${program}: ${sandbox.reason}` };
  const { processes, memory } = sandbox.limiter.inForce;
  const detail = [
    program,
    sandbox.seccomp === undefined ? 'no filter of system calls' : 'system calls filtered',
    `processes limited ${HELD[processes]}`,
    `memory limited ${HELD[memory]}`,
  ].join(', ');
  if (processes !== 'none') return { name, status: 'ok', detail };
  return {
    name,
    status: 'warn',
    detail,
    fix: 'Nothing stops a fork bomb here. Run Telltale as a user other than root, or make /sys/fs/cgroup writable.',
  };
}

const HELD = { cgroup: 'by cgroup', rlimit: 'by rlimit', none: 'by nothing' } as const;

function installation(
  { debian, homebrew }: WantedProgram,
  { platform, findProgram }: DoctorMachine,
): { readonly fix?: string } {
  if (platform === 'darwin') return homebrew === undefined ? {} : { fix: `brew install ${homebrew}` };
  if (findProgram(['apt-get']) === undefined) return {};
  return { fix: `apt-get install -y --no-install-recommends ${debian}` };
}

const REACH_MS = 3_000;

/** Which keys are set (names only), which provider packages are installed, and whether the providers answer. */
const checkProviders: DoctorCheck = async (context) => {
  const { KNOWN_PROVIDERS } = await import('../../models/providers/known-providers.ts');
  const findings = await Promise.all(
    Object.entries(KNOWN_PROVIDERS).map(([name, provider]) => checkProvider(name, provider, context)),
  );
  const found = findings.flatMap((finding) => finding ?? []);
  if (found.length > 0) return found;
  const keys = Object.values(KNOWN_PROVIDERS).flatMap(({ keyVariable, needsKey }) =>
    needsKey && keyVariable !== undefined ? [keyVariable] : [],
  );
  return [
    {
      name: 'Models',
      status: 'warn',
      detail: 'no provider key is set; scripted: models need none',
      fix: `Set one of ${keys.join(', ')}.`,
    },
  ];
};

/** Says nothing about a provider that is not configured. */
async function checkProvider(
  name: string,
  provider: KnownProvider,
  { io, machine, online }: DoctorContext,
): Promise<DoctorFinding | undefined> {
  const { keyVariable, baseVariable } = provider;
  const isSet = [keyVariable, baseVariable].filter((each) => each !== undefined && Boolean(io.env[each]));
  const address = io.env[baseVariable] || provider.baseURL;
  if (isSet.length === 0 && (!online || address === undefined)) return undefined;
  const label = `Model ${name}`;
  const told = isSet.length === 0 ? 'no key' : `${isSet.join(' and ')} set`;
  if (!machine.hasPackage(provider.package))
    return {
      name: label,
      status: 'warn',
      detail: `${told}, but ${provider.package} is not installed`,
      fix: `npm install ${provider.package}`,
    };
  if (address === undefined)
    return { name: label, status: 'warn', detail: `${told}, but no address`, fix: `Set ${baseVariable}.` };
  const status = await machine.reach(address, REACH_MS);
  const where = hostOf(address);
  if (status === undefined)
    return {
      name: label,
      status: 'warn',
      detail: `${told}; ${where} did not answer within ${REACH_MS / 1000} s`,
      fix: `Check the network, the proxy, or ${baseVariable}.`,
    };
  return { name: label, status: 'ok', detail: `${told}; ${where} answers` };
}

/** Only the host, because the address may contain a password. */
function hostOf(address: string): string {
  try {
    return new URL(address).host;
  } catch {
    return 'its address';
  }
}

const NARROW = 60;

/** The terminal and the current folder. */
const checkSurroundings: DoctorCheck = async ({ io }) => {
  const { stdout, stdin, cwd, env } = io;
  const findings: DoctorFinding[] = [];
  if (!stdout.isTerminal)
    findings.push({ name: 'Terminal', status: 'ok', detail: 'none: plain lines, no colors, no questions' });
  else {
    const columns = stdout.columns ?? 0;
    const parts = [
      `${columns} × ${stdout.rows ?? 0}`,
      stdout.color ? 'colors' : 'no colors',
      stdin.isTerminal ? 'can be asked' : 'cannot be asked',
      ...(isUtf8(env) ? [] : ['not known to show UTF-8']),
    ];
    const detail = parts.join(', ');
    findings.push(
      columns > 0 && columns < NARROW
        ? { name: 'Terminal', status: 'warn', detail, fix: `Make it ${NARROW} columns wide or more.` }
        : { name: 'Terminal', status: 'ok', detail },
    );
  }
  findings.push(
    mayWrite(cwd)
      ? { name: 'Folder', status: 'ok', detail: `${cwd} can be read and written` }
      : {
          name: 'Folder',
          status: 'warn',
          detail: `${cwd} cannot be written: agents cannot change files here`,
          fix: `Allow it: chmod u+w ${JSON.stringify(cwd)}`,
        },
  );
  return findings;
};

const isUtf8 = (env: Readonly<Record<string, string | undefined>>): boolean =>
  /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '') || env.WT_SESSION !== undefined;

/** `engines` of the package. */
const WANTED = [22, 13] as const;

/** The bin refuses a Node that is too old, so this usually only reports which Node it is. */
const checkNode: DoctorCheck = async ({ machine: { node } }) => {
  const [major = 0, minor = 0] = node.version.split('.').map(Number);
  const isNew = major > WANTED[0] || (major === WANTED[0] && minor >= WANTED[1]);
  const detail = `${node.version}, ${originOf(node.path)} (${node.path})`;
  if (isNew) return [{ name: 'Node', status: 'ok', detail }];
  const fix = `Install Node ${WANTED.join('.')} or later: https://nodejs.org`;
  return [{ name: 'Node', status: 'fail', detail, fix }];
};

function originOf(path: string): string {
  if (/[\\/]node_modules[\\/]/.test(path)) return "the project's own";
  const [manager] = /nvm|fnm|volta|asdf|mise|homebrew|nodenv/i.exec(path) ?? [];
  return manager === undefined ? "the system's" : `of ${manager.toLowerCase()}`;
}

const CHECKS: readonly DoctorCheck[] = [
  checkNode,
  checkStore,
  checkProviders,
  checkSurroundings,
  checkPrograms,
];

/** All findings in a fixed order. The checks run concurrently. */
export async function runChecks(context: DoctorContext): Promise<readonly DoctorFinding[]> {
  return (await Promise.all(CHECKS.map((check) => check(context)))).flat();
}

/** A finding. `warn` means that something optional does not work. */
export interface DoctorFinding {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** The command, or another step, that fixes it. */
  readonly fix?: string;
}

/** What checks may ask of the machine. Tests pass their own. */
export interface DoctorMachine {
  readonly platform: string;
  readonly node: { readonly version: string; readonly path: string };
  readonly temporaryFolder: string;
  /** The path of the first of these programs that exists. `names` may be absolute paths. */
  findProgram(names: readonly string[]): string | undefined;
  /** The first line that a program prints. Undefined if it fails or takes more than a few seconds. */
  ask(program: string, args: readonly string[]): Promise<string | undefined>;
  /** The sandbox that the runtime would use for commands. Undefined if there can be none. */
  readonly sandbox?: () => Promise<SandboxAvailability>;
  /** Whether the runtime can import a package. */
  hasPackage(name: string): boolean;
  /** The HTTP status of the answer. Undefined if there is none in time. */
  reach(url: string, timeoutMs: number): Promise<number | undefined>;
}

export interface DoctorContext extends Pick<CommandContext, 'io' | 'runtimes'> {
  readonly machine: DoctorMachine;
  /** Also asks providers for which no key is set. */
  readonly online: boolean;
}

export type DoctorCheck = (context: DoctorContext) => Promise<readonly DoctorFinding[]>;

const ASK_MS = 5_000;
const WINDOWS_ENDINGS = ['.exe', '.cmd', ''];

/** The machine that this process runs on. */
export function processMachine({ env, cwd }: Pick<Io, 'env' | 'cwd'>): DoctorMachine {
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
        return undefined; // The program is missing or too slow.
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
