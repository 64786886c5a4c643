import { spawn } from 'node:child_process';
import { expect, onTestFinished } from 'vitest';

const start = new URL('../../src/cli/start.ts', import.meta.url).href;
const script = `const { start } = await import(${JSON.stringify(start)});
process.exit(await start(process.argv.slice(1)));`;

export interface ServedDaemon {
  readonly url: string;
  readonly pid: number;
  readonly said: () => string;
  /** The body of an answer, whatever its status. */
  text(path: string): Promise<string>;
  ask(path: string, init?: RequestInit): Promise<Response>;
  stop(signal: NodeJS.Signals): Promise<number | null>;
  readonly ended: Promise<number | null>;
}

/** A process of `telltale serve` on a free port, ended with the test if it is still there. */
export function daemon(argv: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', script, '--', 'serve', ...argv, '--port', '0'],
    {
      cwd,
      env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let said = '';
  const listen = (chunk: Buffer) => {
    said += chunk.toString();
  };
  child.stdout.on('data', listen);
  child.stderr.on('data', listen);
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, said: () => said, ended };
}

export async function served(
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ServedDaemon> {
  const { child, said, ended } = daemon(argv, cwd, env);
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  await expect.poll(() => (isOver ? 'ended' : said()), { timeout: 60_000 }).toMatch(/#token=\S+|^ended$/);
  const [, url, token] = /(http:\/\/[\d.:]+)\/#token=(\S+)/.exec(said()) ?? [];
  if (url === undefined) throw new Error(`The daemon ended:\n${said()}`);
  const ask = (path: string, init?: RequestInit) =>
    fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init?.headers } });
  return {
    url,
    pid: child.pid ?? 0,
    said,
    ask,
    text: async (path) => (await ask(path)).text(),
    async stop(signal) {
      child.kill(signal);
      return ended;
    },
    ended,
  };
}
