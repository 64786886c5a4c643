import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/** The process exits by itself when its input closes, unless a statement blocks it. */
const GRACE_MS = 1_000;

/**
 * A thread next to the one that SQLite blocks. File descriptor 3 closes when the parent has ended, for whatever reason,
 * and then this process is killed. It uses a shell, because Node ends a process only through the global `process`
 * object, which belongs to the command line. The shell's parent is this process.
 */
const line = new Socket({ fd: 3, readable: true, writable: false });
line.on('error', () => undefined);
line.on('close', () =>
  setTimeout(() => spawn('/bin/sh', ['-c', 'kill -s KILL $PPID'], { stdio: 'ignore' }), GRACE_MS),
);
line.resume();
