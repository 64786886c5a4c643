import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/** The process ends by itself when its input does, unless a statement blocks it. */
const GRACE_MS = 1_000;

/**
 * A thread beside the one that SQLite blocks. File descriptor 3 is closed when the parent has ended, however it ended:
 * then this process goes, too. By way of a shell: Node ends a process only through the global `process`, which is the
 * command line's; to the shell it is its parent.
 */
const line = new Socket({ fd: 3, readable: true, writable: false });
line.on('error', () => undefined);
line.on('close', () =>
  setTimeout(() => spawn('/bin/sh', ['-c', 'kill -s KILL $PPID'], { stdio: 'ignore' }), GRACE_MS),
);
line.resume();
