import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';

/** How long a child that is told to stop may take. */
const STOP_MS = 2_000;
/** How long its descendants may hold its output open after it has ended. */
const LINGER_MS = 500;
const STOP_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
/** Output beyond this is cut off at its beginning: the end is what says why something failed. */
const MAX_OUTPUT_CHARS = 8_000_000;
const onWindows = process.platform === 'win32';

/**
 * @typedef {object} Captured
 * @property {number} code     The exit code; 128 + n if signal n ended it; 127 if it could not be started.
 * @property {string} output   What it wrote, both streams in the order of arrival.
 */

/**
 * Runs a program in a process group of its own and keeps what it writes. None of its descendants outlives it, nor a
 * signal that stops this process: then the group is stopped first and this process ends with 128 + n.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{
 *   readonly cwd?: string,
 *   readonly env?: NodeJS.ProcessEnv,
 *   readonly shell?: boolean,
 *   readonly onStart?: (pid: number) => void,
 * }} [options]
 * @returns {Promise<Captured>}
 */
export function runCaptured(command, args, { onStart, ...options } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: !onWindows,
      windowsHide: true,
    });
    if (child.pid !== undefined) onStart?.(child.pid);
    let output = '';
    let stopping = 0;
    /** @type {NodeJS.Timeout | undefined} */
    let grace;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        output = (output + text).slice(-MAX_OUTPUT_CHARS);
      });
    }
    const killAll = () => endGroup(child, 'SIGKILL');
    const stop = (/** @type {NodeJS.Signals} */ signal) => {
      if (stopping !== 0) return;
      stopping = 128 + constants.signals[signal];
      endGroup(child, signal);
      grace = setTimeout(killAll, STOP_MS);
    };
    for (const signal of STOP_SIGNALS) process.on(signal, stop);
    process.on('exit', killAll);
    const settle = (/** @type {number} */ code) => {
      clearTimeout(grace);
      killAll();
      if (stopping !== 0) process.exit(stopping);
      for (const signal of STOP_SIGNALS) process.off(signal, stop);
      process.off('exit', killAll);
      resolve({ code, output });
    };
    child.once('error', (error) => {
      output += `${error.message}\n`;
      if (child.pid === undefined) settle(127);
    });
    child.once('exit', () => {
      clearTimeout(grace);
      grace = setTimeout(killAll, LINGER_MS);
    });
    child.once('close', (code, signal) => {
      settle(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
    });
  });
}

/**
 * @param {import('node:child_process').ChildProcess} leader
 * @param {NodeJS.Signals} signal
 */
function endGroup(leader, signal) {
  if (leader.pid === undefined) return;
  if (onWindows) {
    const ended = leader.exitCode !== null || leader.signalCode !== null;
    if (!ended) spawnSync('taskkill', ['/pid', String(leader.pid), '/T', '/F'], { stdio: 'ignore' });
    return;
  }
  try {
    process.kill(-leader.pid, signal);
  } catch (error) {
    // Nobody is left in the group: what was wanted.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}
