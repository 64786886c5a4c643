import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { RuntimeError } from '../lib/errors.ts';
import { DAEMONS, stateFolder } from '../tools/access/runtime-paths.ts';
import type { Io } from './io.ts';

/**
 * A running daemon of this user, with its token. Each has one file in `daemons/` of the state folder, which only the
 * user can read and which no sandbox can see. The file exists as long as the daemon runs.
 */
export interface DaemonFile {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** Without the password of the database. */
  readonly store: string;
  readonly token: string;
  /** In milliseconds since the Unix epoch. */
  readonly startedAt: number;
}

const NAME = /^(\d+)-(\d+)\.json$/;
/** How far the process's start time, as the system reports it, may differ from the time it wrote its file. */
const START_SLACK_MS = 10_000;
/** The unit in `/proc/PID/stat` on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

/** Creates the state folder if it does not exist. */
async function makeStateFolder({ env }: Pick<Io, 'env'>): Promise<string> {
  const folder = stateFolder(env);
  const daemons = join(folder, DAEMONS);
  await mkdir(daemons, { recursive: true, mode: 0o700 });
  for (const path of [folder, daemons]) await mustBeOwn(path);
  return daemons;
}

/**
 * Writes the file of this process's daemon, and removes the files of daemons that have ended. Resolves to a function
 * that removes it.
 */
export async function keepDaemonFile(
  io: Pick<Io, 'env'>,
  daemon: Omit<DaemonFile, 'pid'>,
): Promise<() => Promise<void>> {
  const folder = await makeStateFolder(io);
  await readDaemonFiles(io);
  const file = join(folder, `${process.pid}-${daemon.port}.json`);
  const written = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  const { url, host, port, store, token, startedAt } = daemon;
  const content: DaemonFile = { url, host, port, pid: process.pid, store, token, startedAt };
  try {
    await writeFile(written, `${JSON.stringify(content)}\n`, { mode: 0o600, flag: 'wx' });
    await rename(written, file);
  } catch (thrown) {
    await rm(written, { force: true });
    throw thrown;
  }
  return () => rm(file, { force: true });
}

/** The running daemons, newest first. Removes the files of daemons that ended without removing theirs. */
export async function readDaemonFiles({ env }: Pick<Io, 'env'>): Promise<readonly DaemonFile[]> {
  const folder = join(stateFolder(env), DAEMONS);
  const names = await readdir(folder).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return [];
    throw cannotKeep(folder, thrown);
  });
  const found: DaemonFile[] = [];
  for (const name of names) {
    const path = join(folder, name);
    const pid = Number(/^\d+/.exec(name)?.[0] ?? Number.NaN);
    const daemon = NAME.test(name) ? await readOne(path) : undefined;
    if (daemon !== undefined && daemon.pid === pid && (await isRunning(daemon))) found.push(daemon);
    // Includes a temporary file of a process that was killed while writing. A process that is still writing is alive.
    else if (daemon !== undefined || (name.endsWith('.tmp') && !isAlive(pid)))
      await rm(path, { force: true });
  }
  return found.sort((a, b) => b.startedAt - a.startedAt);
}

/** Undefined if the file is malformed or gone. */
async function readOne(path: string): Promise<DaemonFile | undefined> {
  try {
    const read = JSON.parse(await readFile(path, 'utf8')) as DaemonFile;
    return Number.isSafeInteger(read.pid) && typeof read.token === 'string' ? read : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the process that wrote the file still runs. The system reuses process ids. */
async function isRunning({ pid, startedAt }: DaemonFile): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // Counted after the program's name, which may contain anything. It is field 22 of the line.
  const ticks = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  if (!Number.isFinite(ticks)) return true; // Only Linux reports it.
  const processStartedAt = Date.now() - uptime() * 1_000 + (ticks / TICKS_PER_SECOND) * 1_000;
  return processStartedAt <= startedAt + START_SLACK_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Tokens must not go into a folder that somebody else created or can read, or that is a symbolic link. */
async function mustBeOwn(path: string): Promise<void> {
  const stats = await lstat(path);
  const uid = process.getuid?.();
  if (!stats.isDirectory() || (uid !== undefined && stats.uid !== uid))
    throw cannotKeep(path, new Error('the folder belongs to another user'));
  if (uid !== undefined && (stats.mode & 0o077) !== 0) await chmod(path, 0o700);
}

const cannotKeep = (path: string, cause: Error) =>
  new RuntimeError('cannot_write', `The server’s token cannot be saved in ${path}: ${cause.message}.`, {
    hint: 'Set TELLTALE_HOME to a folder of your own, or remove that one.',
    cause,
  });
