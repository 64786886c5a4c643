import { type ChildProcess, spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { recordedIo } from './recorded-io.ts';
// Loaded with the test file, so that no test has to wait for it.
import '../../src/agent/create-runtime.ts';
import '../../src/agent/load-agent.ts';

const start = new URL('../../src/cli/start.ts', import.meta.url).href;
/** What the package's bin does, from the sources. */
const script = `const { start } = await import(${JSON.stringify(start)});
process.exit(await start(process.argv.slice(1)));`;

const POLL_MS = 20;

export interface Spawned {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves when its output holds the text; rejects if the process ends without it. */
  says(text: string): Promise<void>;
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
}

/** The command line as a process of its own; ended with the test if it is still there. */
export function spawned(
  argv: readonly string[],
  cwd: string,
  {
    env = {},
    stdin = 'ignore',
  }: { readonly env?: NodeJS.ProcessEnv; readonly stdin?: 'ignore' | 'pipe' } = {},
): Spawned {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, '--', ...argv], {
    cwd,
    env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  let isOver = false;
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  onTestFinished(() => {
    if (!isOver) child.kill('SIGKILL');
  });
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      isOver = true;
      resolve({ code, out, err });
    });
  });
  return {
    child,
    out: () => out,
    err: () => err,
    ended,
    async says(text) {
      while (!out.includes(text)) {
        if (isOver) throw new Error(`It ended without saying ${JSON.stringify(text)}:\n${out}\n${err}`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
  };
}

/** A command in this process, over the real runtime: quicker than a process of its own, and another one to its owner. */
export async function telltale(argv: readonly string[], cwd: string) {
  const io = { ...recordedIo({ cwd, env: { PATH: process.env.PATH ?? '' } }), clock: createSystemClock() };
  const code = await main(argv, io);
  return { code, out: io.out(), err: io.err() };
}
