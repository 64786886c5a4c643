import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url));
const SESSION_PROCESS = fileURLToPath(new URL('../agent/fixtures/session-process.ts', import.meta.url));

export interface StoreProcess {
  readonly pid: number;
  /** What it has said so far, whole lines. */
  said(): readonly string[];
  /** Resolves when it has said this. */
  says(line: string): Promise<void>;
  /** Resolves with its exit code; null if it was killed. */
  readonly ended: Promise<number | null>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

export const startStoreProcess = (...args: readonly string[]): StoreProcess =>
  start(fixture('store-process'), args);

/** The same on a store in PostgreSQL. */
export const startPostgresProcess = (...args: readonly string[]): StoreProcess =>
  start(fixture('postgres-process'), args);

/** A session on a store of either kind. */
export const startSessionProcess = (...args: readonly string[]): StoreProcess => start(SESSION_PROCESS, args);

function start(file: string, args: readonly string[]): StoreProcess {
  const child: ChildProcess = spawn(process.execPath, [file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const said = () => out.split('\n').slice(0, -1);
  return {
    pid: child.pid ?? 0,
    said,
    ended,
    says: (line) =>
      eventually(() => {
        if (!said().includes(line)) throw new Error(`It has not said "${line}", but: ${out}${err}`);
      }),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
