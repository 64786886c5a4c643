import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Leash } from './open-leash.ts';

const PRELOAD = new URL('./shifted-clock.ts', import.meta.url).href;
const START = fileURLToPath(new URL('./start-member.ts', import.meta.url));
/** A process that has not said that it is ready by then hangs. */
const START_MS = 30_000;
/** One that has not ended by then, having been told to, hangs. */
const END_MS = 30_000;
const LAST_WORDS = 1000;

export interface MemberOptions {
  readonly name: string;
  /** The lab's project. */
  readonly folder: string;
  /** Arguments of the command line: `serve …`, `worker …`. */
  readonly argv: readonly string[];
  readonly leash: Leash;
}

/** One process of a fleet, by the command line that everybody uses. */
export interface Member {
  readonly name: string;
  /** `up`: it has said that it is ready. `stopped`: it is, but for a SIGSTOP. */
  status(): 'up' | 'starting' | 'stopped' | 'down';
  /** Where it answers HTTP, while it is up; a worker does not. */
  url(): string | undefined;
  /** Resolves once it is ready; rejects if it ends before. */
  start(): Promise<void>;
  kill(): Promise<void>;
  stop(): void;
  goOn(): void;
  /** Asks it to end; resolves with what is wrong with how it did, if anything is. */
  end(): Promise<string | undefined>;
  /** How far its clock is off. */
  setClock(ms: number): void;
  /** How often it ended without having been asked to, once it was up. */
  unasked(): number;
}

export function createMember({ name, folder, argv, leash }: MemberOptions): Member {
  const clock = join(folder, `${name}.clock`);
  const log = join(folder, 'logs', `${name}.log`);
  let child: ChildProcess | undefined;
  let url: string | undefined;
  let stopped = false;
  let asked = false;
  let unasked = 0;
  /** On its standard output: where it answers, and what went wrong in the end. */
  let said = '';
  let exitCode: number | null = null;
  let ended: Promise<void> = Promise.resolve();
  writeFileSync(clock, '0');

  const start = (): Promise<void> => {
    const file = openSync(log, 'a');
    const started = spawn(process.execPath, ['--import', PRELOAD, START, ...argv], {
      cwd: folder,
      stdio: ['ignore', 'pipe', file],
      env: {
        PATH: process.env.PATH,
        LAB_CLOCK: clock,
        // Half of what a process costs is compiling the sources.
        NODE_COMPILE_CACHE: join(tmpdir(), 'telltale-lab-compiled'),
      },
    });
    closeSync(file);
    [child, url, stopped, asked] = [started, undefined, false, false];
    const { pid = 0 } = started;
    leash.hold(pid);
    ended = new Promise((resolve) =>
      started.once('exit', (code) => {
        exitCode = code;
        leash.letGo(pid);
        if (!asked && url !== undefined && child === started) unasked++;
        if (child === started) [child, url, stopped] = [undefined, undefined, false];
        resolve();
      }),
    );
    return new Promise((resolve, reject) => {
      const patience = setTimeout(() => started.kill('SIGKILL'), START_MS);
      said = '';
      started.stdout?.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        const [, found] = /"link":"([^"]+)"/.exec(said) ?? [];
        if (url !== undefined || (found === undefined && !said.includes('"fleet":'))) return;
        clearTimeout(patience);
        if (child === started) url = found ?? '';
        resolve();
      });
      started.once('error', reject);
      started.once('exit', (code, signal) => {
        clearTimeout(patience);
        reject(new Error(`${name} ended before it was ready (${signal ?? code}): ${said} See ${log}`));
      });
    });
  };

  return {
    name,
    status: () =>
      child === undefined ? 'down' : stopped ? 'stopped' : url === undefined ? 'starting' : 'up',
    url: () => (stopped || url === '' ? undefined : url),
    start,
    async kill() {
      asked = true;
      child?.kill('SIGKILL');
      await ended;
    },
    stop() {
      if (child === undefined) return;
      stopped = true;
      child.kill('SIGSTOP');
    },
    goOn() {
      child?.kill('SIGCONT');
      stopped = false;
    },
    async end() {
      asked = true;
      const ending = child;
      ending?.kill('SIGTERM');
      let late = false;
      const patience = setTimeout(() => {
        late = true;
        ending?.kill('SIGKILL');
      }, END_MS);
      await ended;
      clearTimeout(patience);
      if (late) return `did not end within ${END_MS} ms`;
      if (exitCode === 0) return undefined;
      return `ended with exit code ${exitCode}: ${said.trim().split('\n').at(-1)?.slice(0, 300)} ${lastWords(log)}`;
    },
    setClock: (ms) => writeFileSync(clock, String(Math.round(ms))),
    unasked: () => unasked,
  };
}

/** The end of what it wrote for people: the folder of a round that holds is not kept. */
const lastWords = (log: string): string => readFileSync(log, 'utf8').trim().slice(-LAST_WORDS);
