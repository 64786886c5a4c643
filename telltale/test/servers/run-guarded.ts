import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const GUARD = fileURLToPath(new URL('./guard.mjs', import.meta.url));
const START_MS = 30_000;

export interface GuardedServer {
  /** Of the server itself. */
  readonly pid: number;
  /** Stops it by its pid; resolves when it has ended and its folder is gone. */
  stop(): Promise<void>;
  /** Ends it by a signal and starts it again; resolves once it takes connections. Its pid is another then. */
  restart(signal: 'SIGINT' | 'SIGQUIT' | 'SIGTERM' | 'SIGKILL'): Promise<void>;
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
export async function runGuarded({ ready, ...program }: ServerProgram): Promise<GuardedServer> {
  const guard = spawn(process.execPath, [GUARD, JSON.stringify(program)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  guard.stdin.on('error', () => undefined); // it may have ended
  guard.on('error', () => undefined); // who waits for it to be ready hears of it
  const ended = new Promise<void>((resolve) => guard.once('close', () => resolve()));
  /** Resolves with the pid of the server that has just been started. */
  const isReady = () =>
    new Promise<number>((resolve, reject) => {
      let said = '';
      const over = () => {
        clearTimeout(patience);
        guard.off('error', onError).off('exit', onExit);
        for (const stream of [guard.stdout, guard.stderr]) stream.off('data', hear).resume();
      };
      const onError = (error: Error) => fail(error.message);
      const onExit = () => fail('ended');
      const fail = (why: string) => {
        over();
        guard.stdin.end();
        reject(new Error(`${program.command} ${why}:\n${said}`));
      };
      const patience = setTimeout(() => fail(`was not ready after ${START_MS} ms`), START_MS);
      const hear = (chunk: Buffer) => {
        said += chunk.toString();
        const pid = Number(/^pid (\d+)$/m.exec(said)?.[1]);
        if (!ready.test(said) || !(pid > 0)) return;
        over();
        resolve(pid);
      };
      guard.once('error', onError).once('exit', onExit);
      for (const stream of [guard.stdout, guard.stderr]) stream.on('data', hear);
    });
  const pid = await isReady();
  return {
    pid,
    async stop() {
      guard.stdin.end();
      await ended;
    },
    async restart(signal) {
      const again = isReady();
      guard.stdin.write(`restart ${signal}\n`);
      await again;
    },
  };
}
