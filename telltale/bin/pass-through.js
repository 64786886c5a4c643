// Plain JavaScript that Node 18 can run.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/** How long a child has to end by a signal that its whole group may have got, before it is sent one more. */
const GROUP_SIGNAL_MS = 300;

/**
 * Runs a program in this one's place: same terminal, same signals. Resolves with the exit code, 128 + n if signal n
 * ended it; rejects if it cannot be started.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ readonly cwd?: string, readonly env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<number>}
 */
export function passThrough(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: 'inherit' });
    /** @type {NodeJS.Timeout | undefined} */
    let pending;
    // On a terminal Ctrl-C reaches the child by itself: sending it on would count as a second one.
    const onTerminal = Boolean(process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY);
    const interrupt = () => {
      if (!onTerminal) pending ??= setTimeout(() => child.kill('SIGINT'), GROUP_SIGNAL_MS);
    };
    const terminate = () => child.kill('SIGTERM');
    const hangUp = () => child.kill('SIGHUP');
    process.on('SIGINT', interrupt).on('SIGTERM', terminate).on('SIGHUP', hangUp);
    const release = () => {
      clearTimeout(pending);
      process.off('SIGINT', interrupt).off('SIGTERM', terminate).off('SIGHUP', hangUp);
    };
    child.once('error', (error) => {
      release();
      reject(error);
    });
    child.once('exit', (code, signal) => {
      release();
      resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
    });
  });
}
