import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { temporaryProject } from '../manifest/temporary-project.ts';

const start = fileURLToPath(new URL('../../src/cli/start.ts', import.meta.url));
const script = `const { start } = await import(${JSON.stringify(start)});
process.exit(await start(process.argv.slice(1)));`;

/** A call that a hostile model makes. */
export interface Call {
  readonly name: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export const write = (path: string, content: string): Call => ({
  name: 'filesystem',
  parameters: { operation: 'write', path, content },
});

export const shell = (command: string): Call => ({
  name: 'shell',
  parameters: { command, allow_failure: true },
});

/** A transcript in which the model makes these calls one after the other. */
export function transcript(calls: readonly Call[]): string {
  const actions = calls.map(
    ({ name, parameters }, index) =>
      `<action id="a${index}" mode="sync">${JSON.stringify({ name, parameters })}</action>`,
  );
  const turns = [...actions, '<response>Done.</response>'];
  return `turns:\n${turns.map((turn) => `  - ${JSON.stringify(turn)}\n`).join('')}`;
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the command line as a process of its own. */
export const cli = (cwd: string, ...argv: readonly string[]): Promise<Ended> => cliOn({ cwd }, ...argv);

/** The same, with another PATH or more in its environment. */
export function cliOn(
  {
    cwd,
    path = process.env.PATH ?? '',
    env = {},
  }: { readonly cwd: string; readonly path?: string; readonly env?: Readonly<Record<string, string>> },
  ...argv: readonly string[]
): Promise<Ended> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, '--', ...argv], {
    cwd,
    env: { PATH: path, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

export interface Attack {
  /** The agent's `import: { tools }`, beyond `builtin:filesystem`. */
  readonly tools?: readonly string[];
  /** The agent's `permissions`, as YAML in one line. */
  readonly permissions?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly calls: readonly Call[];
}

/** A project with an agent whose model makes the calls of the attack. */
export function attackedProject({
  tools = [],
  permissions = '{ shell: deny, sandbox: require }',
  files = {},
  calls,
}: Attack): string {
  const imports = ['builtin:filesystem', ...tools].map((tool) => JSON.stringify(tool)).join(', ');
  return temporaryProject({
    'package.json': '{ "type": "module" }\n',
    'agent.yml': `kind: Agent\nname: hostile\nmodel: scripted:./turns.yml\nimport: { tools: [${imports}] }\npermissions: ${permissions}\n`,
    'turns.yml': transcript(calls),
    ...files,
  });
}

/** Runs the agent, and gives the events of its session, one a line. */
export async function attack(folder: string): Promise<string> {
  await cli(folder, 'run', 'agent.yml', 'Go.');
  return (await cli(folder, 'logs', 'last', '--json')).out;
}

/** Runs the agent. What became of each call, in order: the code of its error, or "ok". */
export async function outcomes(folder: string): Promise<readonly string[]> {
  const events = (await attack(folder))
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { type: string; error?: { code: string } });
  return events.flatMap(({ type, error }) => {
    if (type === 'action.failed') return [error?.code ?? 'failed'];
    return type === 'action.completed' ? ['ok'] : [];
  });
}

export const textOf = (folder: string, path: string): string | undefined =>
  existsSync(join(folder, path)) ? readFileSync(join(folder, path), 'utf8') : undefined;

export interface TestDaemon {
  get(path: string): Promise<unknown>;
  post(path: string, body: object): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

/** A daemon as a process of its own, on a free port. */
export async function daemonIn(cwd: string, ...argv: readonly string[]): Promise<TestDaemon> {
  const args = [...argv, '--port', '0', '--json'];
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, '--', ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await expect.poll(() => out || err.includes('error'), { timeout: 30_000 }).toBeTruthy();
  if (out === '') throw new Error(err);
  const { url, token } = JSON.parse(out) as { readonly url: string; readonly token: string };
  const own = { authorization: `Bearer ${token}` };
  const ask = async (path: string, init?: RequestInit) =>
    JSON.parse(
      (await (await fetch(`${url}${path}`, { ...init, headers: { ...own, ...init?.headers } })).text()) ||
        '{}',
    );
  return {
    get: (path) => ask(path),
    post: (path, body) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
