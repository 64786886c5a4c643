import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { findSandbox } from '../../../src/tools/process/find-sandbox.ts';
import type { ApprovalNeed, TargetCall } from '../../../src/tools/target.ts';
import { temporaryProject } from '../../manifest/temporary-project.ts';
import { agentTargets, type Given, until } from '../agent-targets.ts';
import { httpServer } from '../http-server.ts';
import { memoryTables } from '../memory-tables.ts';

const sandbox = await findSandbox({ PATH: process.env.PATH });
const ABSENT = async () => ({ found: false, reason: 'bwrap not found' }) as const;

const given = async (permissions = '', more: Partial<Given> = {}) => {
  const targets = await agentTargets({
    agent: `import: { tools: ["builtin:shell", "builtin:git", ./x.yml] }\npermissions: { shell: allow, ${permissions} }`,
    ...more,
    files: {
      'x.yml': 'kind: Tool\nname: x\nimplementation: { command: [node, -e, "console.log(process.pid)"] }\n',
      'mine.txt': 'mine',
      'work/mine.txt': 'mine',
      ...more.files,
    },
    options: { graceMs: 5_000, ...more.options },
  });
  const sh = (command: string, call: Partial<TargetCall> = {}) =>
    targets.call('shell', { command, allow_failure: true }, call) as Promise<{
      exit_code: number;
      stdout: string;
      stderr: string;
    }>;
  return { ...targets, sh };
};

test('this machine has a sandbox, or the reason why not is known', () => {
  if (sandbox.found) expect(sandbox.version).toMatch(/^\d+\./);
  else expect(sandbox.reason).not.toBe('');
});

test('a finder that finds no program says so', async () => {
  expect(await findSandbox({ PATH: '/nowhere' })).toMatchObject({ found: false });
});

// Where there is none, what is promised without one is all there is to test.
const inSandbox = sandbox.found ? describe : () => undefined;

inSandbox('in the sandbox', () => {
  test('a command reads and writes what is permitted', async () => {
    const { sh, folder } = await given();
    expect(await sh('cat mine.txt; echo more >> mine.txt; echo new > work/made.txt; pwd')).toMatchObject({
      exit_code: 0,
      stdout: `mine${folder}\n`,
    });
    expect(readFileSync(join(folder, 'work/made.txt'), 'utf8')).toBe('new\n');
    expect(readFileSync(join(folder, 'mine.txt'), 'utf8')).toBe('minemore\n');
  });

  test('a command that creates a file beside the manifests is told why not, and where it can', async () => {
    const { sh, folder, call } = await given('', { files: { 'docs/a.md': 'a' } });
    const refused = [
      `The sandbox refused this. Telltale loads configuration from "${folder}",`,
      'so a command cannot create, rename or delete files directly there, or change that configuration.',
      `It can write in "${folder}/docs", "${folder}/work".`,
      'To give the agent a folder of its own, set this in the manifest: permissions: { paths: [work] }',
    ].join('\n');
    expect((await sh('echo new > made.txt')).stderr).toContain(refused);
    await expect(call('shell', { command: 'echo new > made.txt' })).rejects.toMatchObject({
      code: 'command_failed',
      message: expect.stringContaining(refused),
    });
    expect((await sh('echo new > /usr/made.txt')).stderr).toContain(refused.split('\n')[2]);
  });

  test('a secret in another temporary folder is not there', async () => {
    const elsewhere = temporaryProject({ 'secret.txt': 'hush' });
    const { sh, folder } = await given();
    symlinkSync(join(elsewhere, 'secret.txt'), join(folder, 'link'));
    const { stdout, exit_code } = await sh(`cat ${elsewhere}/secret.txt link; ls ${elsewhere}`);
    expect([stdout, exit_code === 0]).toEqual(['', false]);
  });

  test('nothing outside can be written, and the mounts cannot be undone', async () => {
    const elsewhere = temporaryProject();
    const { sh } = await given();
    const tries = [
      `touch ${elsewhere}/x`,
      'touch /etc/x',
      'touch /usr/x',
      'mount -o remount,rw /',
      'umount /tmp',
    ];
    for (const line of tries) expect((await sh(line)).exit_code, line).not.toBe(0);
    expect(existsSync(join(elsewhere, 'x'))).toBe(false);
  });

  test('the home directory is empty but for what is permitted', async () => {
    const home = temporaryProject({ '.ssh/id': 'key', 'work/a.txt': 'a' });
    const { sh } = await given(`paths: [".", ${home}/work]`, {
      options: { env: { PATH: process.env.PATH, HOME: home } },
    });
    expect(await sh('ls -A ~; cat ~/.ssh/id; cat ~/work/a.txt')).toMatchObject({ stdout: 'work\na' });
  });

  test('temporary files are private to a command and gone after it', async () => {
    const { sh } = await given();
    const named = `/tmp/${randomUUID()}`; // a run without the sandbox would leave it for the next one
    expect(await sh(`f=$(mktemp) && echo x > $f && cat $f && echo y > ${named}`)).toMatchObject({
      exit_code: 0,
      stdout: 'x\n',
    });
    expect((await sh(`cat ${named}`)).exit_code).not.toBe(0);
    expect(existsSync(named)).toBe(false);
  });

  test('what is denied, or has to be asked for, is hidden from commands', async () => {
    const files = { '.env': 'KEY', 'secrets/a': 's', 'deep/x.pem': 'p', 'private/p': 'p' };
    const { sh, folder } = await given('paths: { deny: [.env, secrets/**, "**/*.pem"], ask: [private] }', {
      files,
    });
    expect(await sh('cat .env deep/x.pem; cat secrets/a private/p; ls secrets private')).toMatchObject({
      stdout: 'private:\n\nsecrets:\n',
    });
    expect((await sh('echo x > secrets/new')).exit_code).not.toBe(0);
    await sh('echo x > .env');
    expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('KEY');
  });

  test('what is denied stays hidden in a folder that somebody has approved, and the rest of it is there', async () => {
    const files = { 'work/.env': 'KEY', 'work/deep/x.pem': 'KEY', 'work/free': 'seen', 'other/o': 'KEY' };
    const asked: ApprovalNeed[] = [];
    const { call } = await given(
      'paths: { allow: [.], ask: [work, other], deny: [work/.env, "work/**/*.pem"] }',
      {
        files,
        approve: (need) => asked.push(need) > 0,
      },
    );
    const command = 'cat free; cat .env deep/x.pem ../other/o';
    expect(await call('shell', { command, cwd: 'work', allow_failure: true })).toMatchObject({
      stdout: 'seen',
    });
    expect(asked.map(({ grants }) => grants)).toEqual([[expect.stringMatching(/^path .*work$/)]]);
  });

  test('what is hidden cannot be uncovered by another name for a folder that it lies in', async () => {
    const files = {
      'work/a/b/.env': 'KEY',
      'work/conf/secrets/key': 'KEY',
      'work/p/x.pem': 'KEY',
      'work/node_modules/z': '',
    };
    const deny = 'deny: [work/a/b/.env, work/conf/secrets, "work/**/*.pem"]';
    const { call } = await given(`paths: { allow: [work], ${deny} }`, { files });
    const sh = (command: string) =>
      call('shell', { command, cwd: 'work', allow_failure: true }) as Promise<{
        exit_code: number;
        stderr: string;
      }>;
    const moved = await sh(
      'mv a a2; mv a/b b2; mv conf c2; mv p node_modules/p; mkdir -p a/new && mv a/new n2',
    );
    expect(moved.exit_code, moved.stderr).toBe(0);
    expect(await sh('cat */b/.env b2/.env */secrets/key */x.pem node_modules/p/x.pem')).toMatchObject({
      stdout: '',
    });
    expect(await sh('ls a conf p; ls -d n2')).toMatchObject({
      stdout: 'a:\nb\n\nconf:\nsecrets\n\np:\nx.pem\nn2\n',
    });
  });

  test('the store of the runtime is not there: whoever writes to it answers their own reviews', async () => {
    for (const name of ['.telltale/telltale.db', 'other.db']) {
      const elsewhere = temporaryProject({ [name]: 'log' });
      const store = join(elsewhere, name);
      const options = { store: { location: `sqlite:${store}`, tables: memoryTables() } };
      const { sh } = await given(`paths: { allow: [., ${elsewhere}] }`, { options });
      await sh(`echo x > ${store}; mv ${elsewhere}/.telltale ${elsewhere}/b; rm -r ${store}`);
      expect((await sh(`cat ${store} ${elsewhere}/b/telltale.db`)).stdout).toBe('');
      expect(readFileSync(store, 'utf8')).toBe('log');
      const made = await sh(`echo x > ${store}-journal`);
      if (name.startsWith('.telltale')) expect(made.exit_code).not.toBe(0);
    }
  });

  test('a command reads the files that its agent consists of, and cannot replace them', async () => {
    const files = { 'tools/y.mjs': 'export const run = () => 1;' };
    const tool = 'kind: Tool\nname: x\nimplementation: { module: ./tools/y.mjs }\n';
    const { sh, folder } = await given('', { files: { ...files, 'x.yml': tool } });
    await sh(
      'echo x > agent.yml; rm -f x.yml; echo x > work/n; mv work/n tools/y.mjs; mv tools t; mkdir tools; echo x > tools/z',
    );
    for (const name of ['agent.yml', 'x.yml', 'tools/y.mjs'])
      expect(readFileSync(join(folder, name), 'utf8'), name).not.toBe('x\n');
    expect(existsSync(join(folder, 'tools/z'))).toBe(false); // the module could import it
    expect((await sh('cat x.yml')).stdout).toBe(tool);
  });

  test('where all paths are allowed there are devices, and still no other processes', async () => {
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    for (const folder of [tmpdir(), '/dev/shm'].filter((each) => existsSync(each))) {
      vi.stubEnv('TMPDIR', folder);
      const { sh } = await given('paths: allow');
      const { stdout, stderr } = await sh('echo x > /dev/null; ls -d /proc/[0-9]* | wc -l');
      expect(stderr, folder).toBe('');
      expect(Number(stdout), folder).toBeLessThan(20);
    }
  });

  test('no server is reached unless a host is permitted', async () => {
    const { port } = await httpServer((_request, response) => response.end('hello'));
    const ask = `node -e 'fetch("http://127.0.0.1:${port}").then((r) => r.text()).then(console.log, () => process.exit(9))'`;
    expect((await (await given()).sh(ask)).exit_code).toBe(9);
    expect((await (await given('network: [api.example.com]')).sh(ask)).exit_code).toBe(9);
    expect((await (await given(`network: ["127.0.0.1:${port}"]`)).sh(ask)).stdout).toBe('hello\n');
  });

  test('it does not see the other processes', async () => {
    const { call } = await given();
    expect(Number(await call('x'))).toBeLessThan(20);
  });

  test('a program that is missing, may not be run or fails is told apart as without it', async () => {
    const tool = (command: string) => `kind: Tool\nname: x\nimplementation: { command: ${command} }\n`;
    const code = async (command: string) => {
      const { failure } = await given('', { files: { 'x.yml': tool(command), 'plain.txt': '' } });
      return (await failure('x')).code;
    };
    expect(await code('[no-such-program-here]')).toBe('command_missing');
    expect(await code('[./plain.txt]')).toBe('command_missing');
    expect(await code('["true"], cwd: nowhere')).toBe('folder_missing');
    expect(await code('[sh, -c, "exit 42"]')).toBe('command_failed');
    const { failure } = await given('', { files: { 'x.yml': tool('[touch, /etc/telltale-was-here]') } });
    expect((await failure('x')).message).toContain('permissions: { paths }');
  });

  test('git works in a permitted repository, and knows who commits', async () => {
    const home = temporaryProject({ '.gitconfig': '[user]\n\tname = Me\n\temail = me@example.com\n' });
    const { call } = await given('', { options: { env: { PATH: process.env.PATH, HOME: home } } });
    await call('git', { operation: 'init' });
    await call('git', { operation: 'add', paths: ['mine.txt'] });
    await call('git', { operation: 'commit', message: 'first' });
    expect(await call('git', { operation: 'show' })).toContain('Me <me@example.com>');
  });

  test('git shows keys to other machines only: not to what the settings of a repository run', async () => {
    const home = temporaryProject({ '.ssh/id': 'key' });
    const { call, sh, folder } = await given('', {
      options: { env: { PATH: process.env.PATH, HOME: home } },
    });
    await sh('cd work && git init -q . && git init -q r && git remote add near ./r');
    await sh(
      `cd work && git config remote.near.uploadpack '{ ls ~/.ssh; cat /proc/net/dev; } > seen 2> /dev/null; git-upload-pack'`,
    );
    await call('git', { operation: 'fetch', remote: 'near', path: 'work' });
    expect(readFileSync(join(folder, 'work/seen'), 'utf8')).not.toMatch(/^id$|^ *(?!lo:)\w+:[ \d]/m);
  });

  test('a folder in PATH that nobody can get at keeps no command from running', async () => {
    const home = temporaryProject({ file: 'no folder' });
    const PATH = `${home}/file/tools/bin:${home}/none/bin:${process.env.PATH}`;
    const { sh } = await given('', { options: { env: { PATH, HOME: home } } });
    expect(await sh('echo here')).toMatchObject({ exit_code: 0, stdout: 'here\n' });
  });

  test('a program in the home directory that PATH names can be run', async () => {
    const home = temporaryProject();
    mkdirSync(join(home, 'tools/bin'), { recursive: true });
    writeFileSync(join(home, 'tools/bin/greet'), '#!/bin/sh\n. "$(dirname "$0")/../lib.sh"\n', {
      mode: 0o755,
    });
    writeFileSync(join(home, 'tools/lib.sh'), 'echo hello\n');
    writeFileSync(join(home, 'secret'), 'hush');
    const { sh } = await given('', {
      options: { env: { PATH: `${home}/tools/bin:${process.env.PATH}`, HOME: home } },
    });
    expect(await sh('greet; cat ~/secret')).toMatchObject({ stdout: 'hello\n' });
  });

  test('a command that is stopped may clean up, and all it started ends with it', async () => {
    const { call, folder } = await given();
    const controller = new AbortController();
    const command = `sleep 1000 & trap 'echo 1 > cleaned; exit 0' TERM; echo 1 > ready; while :; do sleep 0.01; done`;
    const ended = call('shell', { command, cwd: 'work' }, { signal: controller.signal }).then(
      () => 'no error',
      (thrown: { readonly code: string }) => thrown.code,
    );
    await until(() => existsSync(join(folder, 'work/ready')));
    controller.abort();
    expect(await ended).toBe('cancelled');
    expect(existsSync(join(folder, 'work/cleaned'))).toBe(true);
  });

  test('a command that does not stop is killed after its grace', async () => {
    const { call, folder } = await given('', { options: { graceMs: 50 } });
    const controller = new AbortController();
    const command = `trap '' TERM; echo 1 > ready; while :; do date +%s%N > beat; sleep 0.01; done`;
    const ended = call('shell', { command, cwd: 'work' }, { signal: controller.signal }).catch(
      () => 'stopped',
    );
    await until(() => existsSync(join(folder, 'work/beat')));
    controller.abort();
    expect(await ended).toBe('stopped');
    const beat = () => readFileSync(join(folder, 'work/beat'), 'utf8');
    let last = '';
    await until(() => {
      const now = beat();
      const still = now === last;
      last = now;
      return still;
    });
  });
});

describe('without a sandbox', () => {
  test('commands run, and the log is told why they are not confined', async () => {
    const notes: string[] = [];
    const { sh } = await given('', { options: { findSandbox: ABSENT } });
    expect(await sh('echo hi', { note: (what) => notes.push(what) })).toMatchObject({ stdout: 'hi\n' });
    expect(notes).toEqual(['bwrap not found, so commands run without a sandbox.']);
  });

  test('a manifest that requires one is refused its commands', async () => {
    const { failure } = await given('sandbox: require', { options: { findSandbox: ABSENT } });
    const error = await failure('shell', { command: 'echo hi' });
    expect(error.code).toBe('not_permitted');
    expect(error.message).toContain('bwrap not found');
    expect(error.hint).toContain('sandbox: auto');
  });

  test('one that wants none is not asked for', async () => {
    const notes: string[] = [];
    const { sh } = await given('sandbox: off', {
      options: { findSandbox: () => Promise.reject(new Error('looked for')) },
    });
    expect(await sh('echo $$ > /dev/null; echo hi', { note: (what) => notes.push(what) })).toMatchObject({
      stdout: 'hi\n',
    });
    expect(notes).toEqual([]);
  });
});
