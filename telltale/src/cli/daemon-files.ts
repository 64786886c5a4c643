import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { RuntimeError } from '../lib/errors.ts';
import { DAEMONS, stateFolder } from '../tools/access/store-files.ts';
import type { Io } from './io.ts';

/**
 * A daemon of this user that listens, with its token: one file each in `daemons/` of the state folder, which only the user
 * can read and which no sandbox shows. It is there for as long as the daemon runs.
 */
export interface DaemonFile {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** As people may see it: without the password of a database. */
  readonly store: string;
  readonly token: string;
  /** In milliseconds since the Unix epoch. */
  readonly startedAt: number;
}

const NAME = /^(\d+)-(\d+)\.json$/;
/** How far the start of a process, as the system tells it, may be from when it wrote its file. */
const START_SLACK_MS = 10_000;
/** The unit of `/proc/PID/stat`, on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Makes the folder of these files, where it is not there. */
async function makeStateFolder({ env }: Pick<Io, 'env'>): Promise<string> {
  const folder = stateFolder(env);
  const daemons = join(folder, DAEMONS);
  await mkdir(daemons, { recursive: true, mode: 0o700 });
  for (const path of [folder, daemons]) await mustBeOwn(path);
  return daemons;
}

/** Writes the file of a daemon of this process, and removes those of daemons that are gone. Resolves to how to remove it. */
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

/** Those that run, the newest first. Files of daemons that ended without removing theirs are removed. */
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
    // Also what a process left that was killed while it wrote. One that still writes is alive.
    else if (daemon !== undefined || (name.endsWith('.tmp') && !isAlive(pid)))
      await rm(path, { force: true });
  }
  return found.sort((a, b) => b.startedAt - a.startedAt);
}

/** Undefined for what is no such file, or is gone by now. */
async function readOne(path: string): Promise<DaemonFile | undefined> {
  try {
    const read = JSON.parse(await readFile(path, 'utf8')) as DaemonFile;
    return Number.isSafeInteger(read.pid) && typeof read.token === 'string' ? read : undefined;
  } catch {
    return undefined;
  }
}

/** Whether its process still is the one that wrote it: the system gives numbers of processes out again. */
async function isRunning({ pid, startedAt }: DaemonFile): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // Behind the program's name, which may hold anything; the 22nd field of all.
  const ticks = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  if (!Number.isFinite(ticks)) return true; // only Linux tells
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

/** Tokens go into no folder that somebody else made, can read, or points elsewhere with a link. */
async function mustBeOwn(path: string): Promise<void> {
  const stats = await lstat(path);
  const uid = process.getuid?.();
  if (!stats.isDirectory() || (uid !== undefined && stats.uid !== uid))
    throw cannotKeep(path, new Error('it is not a folder of this user'));
  if (uid !== undefined && (stats.mode & 0o077) !== 0) await chmod(path, 0o700);
}

const cannotKeep = (path: string, cause: Error) =>
  new RuntimeError('cannot_write', `Tokens of daemons cannot be kept in ${path}: ${cause.message}.`, {
    hint: 'Set TELLTALE_HOME to a folder of your own, or remove that one.',
    cause,
  });
