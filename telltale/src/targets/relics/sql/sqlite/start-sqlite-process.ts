import { fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { builtFile } from '../../../../kernel/built-file.ts';
import { messageLine } from './message-line.ts';
import type { FromServer, ToServer } from './messages.ts';

/** The process that has a SQLite file open. It answers one request at a time. */
export interface SqliteProcess {
  /** Rejects if it ends before it has answered. */
  ask(message: ToServer): Promise<FromServer>;
  readonly hasEnded: boolean;
  /** At once, whatever it is doing; what it had begun is rolled back by whoever opens the file next. */
  kill(): void;
  /** Resolves when it has closed the file and ended. */
  close(): Promise<void>;
}

const FILE = builtFile(new URL('./sqlite-process.ts', import.meta.url));

export function startSqliteProcess(): SqliteProcess {
  const child = fork(FILE, {
    // Node 22 warns that node:sqlite is experimental; users can do nothing about it.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: {}, // it needs nothing, and no secret is safer than one that is not there
    stdio: ['pipe', 'pipe', 'ignore', 'pipe', 'ipc'],
  });
  const [input, output, , line] = child.stdio as unknown as [Writable, Readable, null, Writable];
  // A pipe to a process that has just been killed; its end is what counts.
  for (const stream of [input, line]) stream.on('error', () => undefined);
  let waiting: { resolve(answer: FromServer): void; reject(error: Error): void } | undefined;
  let hasEnded = false;
  const ended = new Promise<void>((resolve) => {
    const end = (why: string) => {
      if (hasEnded) return;
      hasEnded = true;
      waiting?.reject(new Error(why));
      resolve();
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(`its process ended with ${signal ?? code}`));
  });
  createInterface({ input: output }).on('line', (text) => {
    const answered = waiting;
    waiting = undefined;
    answered?.resolve(JSON.parse(text) as FromServer);
  });
  return {
    ask(message) {
      if (hasEnded) return Promise.reject(new Error('its process has ended'));
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        input.write(messageLine(message));
      });
    },
    get hasEnded() {
      return hasEnded;
    },
    kill: () => void child.kill('SIGKILL'),
    async close() {
      input.end();
      line.end();
      await ended;
    },
  };
}
