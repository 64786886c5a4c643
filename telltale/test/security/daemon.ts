import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';

const BIN = fileURLToPath(new URL('../../bin/telltale.js', import.meta.url));

/** A folder of its own below the temporary one, gone when the test is over. */
export function temporaryFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-security-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  writeFiles(folder, files);
  return folder;
}

export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

export interface CommandResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Place {
  readonly cwd: string;
  /** `TELLTALE_HOME`. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
}

const environment = ({ home, env }: Place) => ({
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  HOME: join(home, 'user'),
  TELLTALE_HOME: join(home, 'state'),
  ...env,
});

/** The command line, to its end. */
export async function telltale(place: Place, ...args: readonly string[]): Promise<CommandResult> {
  const child = spawn(process.execPath, [BIN, ...args], { cwd: place.cwd, env: environment(place) });
  const said = listen(child);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, out: said.out(), err: said.err() };
}

export interface Daemon {
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly link: string;
  readonly pid: number;
  readonly out: () => string;
  readonly err: () => string;
  /** `fetch` of a path with these headers and no others. */
  bare(path: string, init?: RequestInit): Promise<Response>;
  /** The same with the daemon's own token, or another one. */
  ask(path: string, init?: RequestInit, token?: string): Promise<Response>;
  json<Answer>(path: string, body?: object, token?: string): Promise<Answer>;
  /** The exit code, or the signal that ended it. */
  stop(signal: NodeJS.Signals): Promise<number | string | null>;
}

/** `telltale serve` or `dev` in a process of its own, ended with the test. */
export async function startDaemon(place: Place, ...args: readonly string[]): Promise<Daemon> {
  const child = spawn(process.execPath, [BIN, ...args, '--json'], {
    cwd: place.cwd,
    env: environment(place),
  });
  const { out, err } = listen(child);
  const ended = new Promise<number | string | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal)),
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await Promise.race([
    expect.poll(out, { timeout: 30_000 }).toMatch(/\}\s*$/),
    ended.then((code) => expect.unreachable(`it ended with ${code}: ${err()}`)),
  ]);
  const { url, port, token, link } = JSON.parse(out()) as Record<'url' | 'token' | 'link', string> & {
    readonly port: number;
  };
  const bare: Daemon['bare'] = (path, init) => fetch(`${url}${path}`, init);
  const ask: Daemon['ask'] = (path, init, own = token) =>
    bare(path, { ...init, headers: { ...init?.headers, authorization: `Bearer ${own}` } });
  return {
    url,
    port,
    token,
    link,
    out,
    err,
    bare,
    ask,
    pid: child.pid ?? 0,
    async json<Answer>(path: string, body?: object, own?: string) {
      const init =
        body === undefined
          ? {}
          : {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify(body),
            };
      const answer = await ask(path, init, own);
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
      return JSON.parse(text || '{}') as Answer;
    },
    async stop(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

function listen(child: ChildProcess): { readonly out: () => string; readonly err: () => string } {
  let [out, err] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return { out: () => out, err: () => err };
}

/** All files below a folder, absolute. */
export const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
