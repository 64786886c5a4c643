import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SetupFailure } from './setup-failure.js';

const POLL_MS = 200;
const BEAT_MS = 5_000;
/** An owner on another machine, or one whose number was given to another process, is known dead by its silence. */
const SILENT_MS = 60_000;
/** A lock that was created but not yet filled in. */
const BLANK_MS = 5_000;
const MAX_WAIT_MS = 20 * 60_000;

/**
 * @typedef {object} LockFacts
 * @property {string} text       What the lock file holds: the owner's process, machine and worker, or nothing yet.
 * @property {number} silentMs   How long ago the owner last gave a sign of life.
 */

/**
 * Whether the lock's owner is gone, so that another may take it. An owner that was killed may have left its worker
 * behind, which goes on writing to node_modules: the lock is held until that has ended too.
 * @param {LockFacts} lock
 * @param {{ readonly host: string, readonly isAlive: (pid: number) => boolean }} machine
 */
export function isStale({ text, silentMs }, { host, isAlive }) {
  const [, pid, owner, worker] = /^(\d+) (\S+)(?: (\d+))?\n$/.exec(text) ?? [];
  if (pid === undefined) return silentMs > BLANK_MS;
  if (silentMs > SILENT_MS) return true;
  if (owner !== host || isAlive(Number(pid))) return false;
  return worker === undefined || !isAlive(Number(worker));
}

/**
 * Runs `work` while no other launch in this clone does the same. Says so with `onWait` if it has to wait. `work` is
 * given a function to name the process that works for it.
 * @template T
 * @param {string} path
 * @param {() => void} onWait
 * @param {(nameWorker: (pid: number) => void) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withSetupLock(path, onWait, work) {
  mkdirSync(dirname(path), { recursive: true });
  let mine = `${process.pid} ${hostname()}\n`;
  const deadline = Date.now() + MAX_WAIT_MS;
  for (let tries = 0; !take(path, mine); tries++) {
    if (tries === 0) onWait();
    if (Date.now() > deadline) throw waitedTooLong(path);
    await sleep(POLL_MS);
  }
  const beat = setInterval(() => utimesSync(path, new Date(), new Date()), BEAT_MS);
  const release = () => {
    clearInterval(beat);
    if (read(path)?.text === mine) rmSync(path, { force: true });
  };
  const nameWorker = (/** @type {number} */ pid) => {
    mine = `${process.pid} ${hostname()} ${pid}\n`;
    writeFileSync(path, mine);
  };
  process.on('exit', release);
  try {
    return await work(nameWorker);
  } finally {
    process.off('exit', release);
    release();
  }
}

/**
 * @param {string} path
 * @param {string} mine
 */
function take(path, mine) {
  try {
    writeFileSync(path, mine, { flag: 'wx' });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
  }
  const held = read(path);
  if (held !== undefined && isStale(held, { host: hostname(), isAlive })) putAside(path, held.text);
  return false;
}

/**
 * Moving is atomic, so of two that find the same stale lock one moves it; should the other move the new owner's by
 * mistake, it sees that from the text and moves it back.
 * @param {string} path
 * @param {string} staleText
 */
function putAside(path, staleText) {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return;
    throw error;
  }
  if (read(aside)?.text === staleText) rmSync(aside, { force: true });
  else renameSync(aside, path);
}

/**
 * @param {string} path
 * @returns {LockFacts | undefined}
 */
function read(path) {
  try {
    return { text: readFileSync(path, 'utf8'), silentMs: Date.now() - statSync(path).mtimeMs };
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/** @param {string} path */
const waitedTooLong = (path) =>
  new SetupFailure({
    what: `Another launch has been setting up this clone for ${MAX_WAIT_MS / 60_000} minutes.`,
    mend: `If none is running, delete ${path} and run the command again.`,
  });
