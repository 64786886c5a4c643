import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const GUARD = fileURLToPath(new URL('./guard.mjs', import.meta.url));
const START_MS = 30_000;

export interface GuardedServer {
  /** Of the server itself. */
  readonly pid: number;
  /** Stops it by its pid; resolves when it has ended and its folder is gone. */
  stop(): Promise<void>;
}

export interface ServerProgram {
  readonly command: string;
  readonly args: readonly string[];
  /** Another user than this one. */
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stopSignal: 'SIGTERM' | 'SIGINT';
  /** Its own: the server works there, and it goes with it. */
  readonly folder: string;
  /** What it says once it takes connections. */
  readonly ready: RegExp;
}

/** Starts a server that ends with this process, however that ends. Rejects with what it said if it does not start. */
export function runGuarded({ ready, ...program }: ServerProgram): Promise<GuardedServer> {
  const guard = spawn(process.execPath, [GUARD, JSON.stringify(program)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  guard.stdin.on('error', () => undefined); // it may have ended
  const ended = new Promise<void>((resolve) => guard.once('close', () => resolve()));
  let said = '';
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(patience);
      guard.stdin.end();
      reject(new Error(`${program.command} ${why}:\n${said}`));
    };
    const patience = setTimeout(() => fail(`was not ready after ${START_MS} ms`), START_MS);
    const hear = (chunk: Buffer) => {
      said += chunk.toString();
      const pid = Number(/^pid (\d+)$/m.exec(said)?.[1]);
      if (!ready.test(said) || !(pid > 0)) return;
      clearTimeout(patience);
      for (const stream of [guard.stdout, guard.stderr]) stream.off('data', hear).resume();
      resolve({
        pid,
        async stop() {
          guard.stdin.end();
          await ended;
        },
      });
    };
    guard.once('error', (error) => fail(error.message));
    guard.once('exit', () => fail('ended'));
    for (const stream of [guard.stdout, guard.stderr]) stream.on('data', hear);
  });
}
