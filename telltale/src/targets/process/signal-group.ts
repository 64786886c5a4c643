import { type ChildProcess, spawn } from 'node:child_process';
import { platform } from 'node:os';

export type EndSignal = 'SIGTERM' | 'SIGKILL';

/**
 * Sends a signal to a child that leads its own process group, and to all that it started and that did not leave the
 * group. By way of the shell's `kill`: Node reaches a group only through the global process, which is the command
 * line's. Where there is no shell, the child alone gets it. Resolves when it has been sent.
 */
export function signalGroup(child: ChildProcess, signal: EndSignal): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return Promise.resolve();
  const [program, args] =
    platform() === 'win32'
      ? ['taskkill', ['/pid', String(pid), '/T', ...(signal === 'SIGKILL' ? ['/F'] : [])]]
      : ['/bin/sh', ['-c', `kill -s ${signal.slice(3)} -- -${pid}`]];
  return new Promise((resolve) => {
    const fallBack = () => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      resolve();
    };
    const sender = spawn(program, args, { stdio: 'ignore', windowsHide: true });
    sender.once('error', fallBack);
    sender.once('exit', (code) => {
      if (code === 0) resolve();
      else fallBack();
    });
  });
}
