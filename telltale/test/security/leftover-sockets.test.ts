import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const CLI = `const { start } = await import(${JSON.stringify(new URL('../../src/cli/start.ts', import.meta.url).href)});
process.exit(await start(process.argv.slice(1)));`;

let folder: string;
let children: ChildProcess[];
beforeEach(() => {
  // Short: a socket's path has a hundred bytes at most.
  folder = mkdtempSync(join(tmpdir(), 'tts-'));
  children = [];
  writeFileSync(join(folder, 'agent.yml'), 'kind: Agent\nname: slow\nmodel: scripted:turns.yml\n');
  writeFileSync(
    join(folder, 'turns.yml'),
    'tokens_per_second: 1\nturns:\n  - <thought>One two three four five six seven eight nine ten.</thought>\n',
  );
});
afterEach(async () => {
  await Promise.all(children.map((child) => killed(child, 'SIGKILL')));
  rmSync(folder, { recursive: true, force: true });
});

const sockets = () => readdirSync(folder).filter((name) => name.endsWith('.sock'));

function start(...argv: string[]): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '-e', CLI, '--', ...argv], {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(child);
  return child;
}

function killed(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}

const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => child.once('exit', (code) => resolve(code)));

/** A session that is at work, on a store of its own. */
async function working(store: string): Promise<{ readonly child: ChildProcess; readonly socket: string }> {
  const before = new Set(sockets());
  const child = start('run', 'agent.yml', 'Think.', '--store', store);
  await expect.poll(() => sockets().filter((name) => !before.has(name)).length).toBe(1);
  return { child, socket: sockets().find((name) => !before.has(name)) ?? '' };
}

it('clears away the socket of a process that was killed, when any store is opened next', async () => {
  const { child } = await working('a.db');
  await killed(child, 'SIGKILL');
  expect(sockets()).toHaveLength(1);
  expect(await ended(start('sessions', '--store', 'a.db'))).toBe(0);
  expect(sockets()).toEqual([]);
});

it('clears it away although the store that the process worked on is never opened again', async () => {
  const { child } = await working('a.db');
  await killed(child, 'SIGKILL');
  writeFileSync(join(folder, 'turns.yml'), 'turns: [<response>Done.</response>]\n');
  expect(await ended(start('run', 'agent.yml', 'Think.', '--quiet', '--store', 'other.db'))).toBe(0);
  expect(sockets()).toEqual([]);
});

it('leaves the socket of a process that is alive', async () => {
  const alive = await working('a.db');
  const dead = await working('b.db');
  await killed(dead.child, 'SIGKILL');
  expect(await ended(start('sessions', '--store', 'a.db'))).toBe(0);
  expect(sockets()).toEqual([alive.socket]);
});

it('takes another process with the pid of a dead one for what it is', async () => {
  const { child, socket } = await working('a.db');
  await killed(child, 'SIGKILL');
  const [, , startedAt = '', ...rest] = socket.split('-');
  // The same socket, as if its process had had the pid that this one has now.
  renameSync(join(folder, socket), join(folder, ['telltale', process.pid, startedAt, ...rest].join('-')));
  expect(await ended(start('sessions', '--store', 'a.db'))).toBe(0);
  expect(sockets()).toEqual([]);
});

it('leaves what is no socket, and what is called otherwise', async () => {
  const { child, socket } = await working('a.db');
  await killed(child, 'SIGKILL');
  renameSync(join(folder, socket), join(folder, 'postgres.sock'));
  writeFileSync(join(folder, socket), 'a file');
  expect(await ended(start('sessions', '--store', 'b.db'))).not.toBe(null);
  expect(sockets().sort()).toEqual(['postgres.sock', socket].sort());
  expect(readFileSync(join(folder, socket), 'utf8')).toBe('a file');
});

it('leaves no socket when a process is stopped in order', async () => {
  const { child } = await working('a.db');
  await killed(child, 'SIGTERM');
  expect(sockets()).toEqual([]);
});

it('clears away the network of a command whose runtime was killed, and not of one that runs', {
  timeout: 60_000,
}, async () => {
  const call = JSON.stringify({ name: 'shell', parameters: { command: 'sleep 30' } });
  const turns = (text: string) => `turns: [${JSON.stringify(text)}]\n`;
  // A network counts once its proxy listens: one that is killed before that leaves no socket to find it by.
  const networks = () =>
    readdirSync(folder).filter(
      (name) => name.startsWith('telltale-net-') && existsSync(join(folder, name, 'proxy')),
    );
  writeFileSync(
    join(folder, 'agent.yml'),
    'kind: Agent\nname: slow\nmodel: scripted:turns.yml\nimport: { tools: ["builtin:shell"] }\npermissions: { shell: allow, sandbox: require, network: [example.com] }\n',
  );
  writeFileSync(join(folder, 'turns.yml'), turns(`<action id="a" mode="sync">${call}</action>`));
  const unfinished = join(folder, 'telltale-net-unfinished');
  mkdirSync(unfinished);
  utimesSync(unfinished, 0, 0);
  const dead = start('run', 'agent.yml', 'Sleep.', '--store', 'a.db');
  await expect.poll(networks, { timeout: 20_000 }).toHaveLength(1);
  await killed(dead, 'SIGKILL');
  expect(existsSync(unfinished)).toBe(false);
  const [left] = networks();
  const alive = start('run', 'agent.yml', 'Sleep.', '--store', 'b.db');
  await expect.poll(() => networks().filter((name) => name !== left).length, { timeout: 20_000 }).toBe(1);
  expect(networks()).not.toContain(left);
  const [working] = networks();
  start('run', 'agent.yml', 'Sleep.', '--store', 'c.db');
  await expect.poll(() => networks().length, { timeout: 20_000 }).toBe(2);
  expect(networks()).toContain(working);
  await killed(alive, 'SIGKILL');
});
