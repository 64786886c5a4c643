import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';

const START = new URL('../../src/cli/start.ts', import.meta.url).href;
const SCRIPT = `const { start } = await import(${JSON.stringify(START)});
process.exit(await start(process.argv.slice(1)));`;

/** A folder with agents, and a store that processes share. A tool in it writes `begin PID` and `end PID` to `journal`. */
export function fleetHome(files: Readonly<Record<string, string>>, store: string) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-capacity-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const journal = (): readonly string[] =>
    existsSync(join(folder, 'journal'))
      ? readFileSync(join(folder, 'journal'), 'utf8').trim().split('\n')
      : [];
  return {
    folder,
    journal,
    hold: () => writeFileSync(join(folder, 'hold'), ''),
    go: () => rmSync(join(folder, 'hold'), { force: true }),
    /** The most that were at work at once, of one process or of all. */
    most(pid?: number): number {
      let [now, most] = [0, 0];
      for (const line of journal()) {
        const [what, of] = line.split(' ');
        if (pid !== undefined && Number(of) !== pid) continue;
        now += what === 'begin' ? 1 : -1;
        most = Math.max(most, now);
      }
      return most;
    },
    store,
    start: (...args: readonly string[]) => started(folder, store, [...args, '--json']),
    write: (name: string, text: string) => writeFileSync(join(folder, name), text),
  };
}

/** A process that says on stdout where it is, once it is there. */
async function started(cwd: string, store: string, args: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT, '--', ...args], {
    cwd,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      TELLTALE_STORE: store,
    },
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let [out, err] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  await Promise.race([expect.poll(() => out, { timeout: 60_000 }).toMatch(/\n$/), ended]);
  if (out === '') throw new Error(err);
  const { url, token } = JSON.parse(out) as { readonly url: string; readonly token: string };
  const own = { authorization: `Bearer ${token}` };
  const ask = async (path: string, init?: RequestInit) => {
    const answer = await fetch(`${url}${path}`, { ...init, headers: { ...own, ...init?.headers } });
    const body = JSON.parse((await answer.text()) || '{}') as Record<string, unknown>;
    return { status: answer.status, headers: answer.headers, body };
  };
  return {
    pid: child.pid ?? 0,
    out: () => out,
    ended,
    err: () => err,
    async kill(signal: NodeJS.Signals = 'SIGKILL') {
      child.kill(signal);
      await ended;
    },
    get: async (path: string) => (await ask(path)).body,
    metrics: async () => (await fetch(`${url}/metrics`, { headers: own })).text(),
    post: (path: string, body: object) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
}

export type Started = Awaited<ReturnType<typeof started>>;
