import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { agentTargets } from './agent-targets.ts';

const given = async (permissions = '') => {
  const targets = await agentTargets({
    agent: `import: { tools: ["builtin:git"] }\n${permissions}`,
    files: { 'a.txt': 'one\n' },
  });
  return {
    ...targets,
    git: (operation: string, input = {}) => targets.call('git', { operation, ...input }),
    fails: (operation: string, input = {}) => targets.failure('git', { operation, ...input }),
    raw: (...args: string[]) => execFileSync('git', args, { cwd: targets.folder, encoding: 'utf8' }).trim(),
  };
};

test('a repository is made, and a change staged, committed and shown', async () => {
  const { git, raw, folder } = await given();
  await git('init');
  expect(await git('status')).toContain('?? a.txt');
  await git('add', { paths: ['a.txt'] });
  expect(await git('diff', { staged: true })).toContain('+one');
  await git('commit', { message: '-m is no option here' });
  expect(raw('log', '-1', '--format=%an <%ae> %s')).toBe(
    'tester (Telltale) <agent@telltale.invalid> -m is no option here',
  );
  writeFileSync(join(folder, 'a.txt'), 'two\n');
  expect(await git('diff', { stat: true })).toContain('a.txt');
  const said = await git('commit', { message: 'second', all: true });
  expect(said).toContain(
    `${raw('rev-parse', '--short', 'HEAD')}] second\n 1 file changed, 1 insertion(+), 1 deletion(-)`,
  );
  expect(await git('log', { limit: 1 })).toContain('second');
  expect(await git('log')).toContain('no option here');
  expect(await git('show', { ref: 'HEAD~1', file: 'a.txt' })).toBe('one');
  expect(await git('show')).toContain('+two');
});

test('an identity that git knows is used', async () => {
  const { git, raw } = await given();
  await git('init');
  raw('config', 'user.email', 'me@example.com');
  raw('config', 'user.name', 'Me');
  await git('add', { paths: ['a.txt'] });
  await git('commit', { message: 'mine' });
  expect(raw('log', '-1', '--format=%ae')).toBe('me@example.com');
});

test('branches are made, gone to and merged', async () => {
  const { git, raw, folder } = await given();
  await git('init');
  await git('add', { paths: ['a.txt'] });
  await git('commit', { message: 'first' });
  const trunk = raw('branch', '--show-current');
  await git('checkout', { ref: 'topic', create: true });
  writeFileSync(join(folder, 'b.txt'), 'b');
  await git('add', { paths: ['b.txt'] });
  await git('commit', { message: 'topic' });
  await git('checkout', { ref: trunk });
  expect(existsSync(join(folder, 'b.txt'))).toBe(false);
  await git('merge', { ref: 'topic' });
  expect(existsSync(join(folder, 'b.txt'))).toBe(true);
  await git('branch', { name: 'other' });
  expect(await git('branch')).toContain('other');
  writeFileSync(join(folder, 'b.txt'), 'changed');
  await git('checkout', { paths: ['b.txt'] });
  expect(await git('status')).not.toContain('b.txt');
});

test('what git says of a failure is in the error', async () => {
  const { git, fails } = await given();
  await git('init');
  const error = await fails('checkout', { ref: 'nowhere' });
  expect(error.code).toBe('command_failed');
  expect(error.message).toContain('nowhere');
  expect((await fails('commit', { message: 'nothing' })).code).toBe('command_failed');
});

test.each([
  ['diff', { from: '--output=/tmp/stolen' }],
  ['diff', { from: '--no-index' }],
  ['log', { ref: '--output=x' }],
  ['show', { ref: '--ext-diff' }],
  ['checkout', { ref: '-f' }],
  ['branch', { name: '-D' }],
  ['fetch', { remote: '--upload-pack=touch x' }],
  ['fetch', { remote: 'ext::sh -c touch% x' }],
  ['push', { remote: 'https://evil.example/x' }],
])('git %s %j passes no option on', async (operation, input) => {
  const { git, fails } = await given();
  await git('init');
  expect((await fails(operation, input)).code).toBe('bad_parameters');
});

test('a path is a path, whatever it looks like', async () => {
  const { git, fails, folder } = await given();
  await git('init');
  writeFileSync(join(folder, '--all'), 'x');
  await git('add', { paths: ['--all'] });
  expect(await git('status')).toContain('A  --all');
  expect((await fails('add', { paths: [':(exclude)a.txt', '*.nothing'] })).code).toBe('command_failed');
});

test('a repository that begins outside the permitted paths is not found', async () => {
  const { fails, raw, folder } = await given('permissions: { paths: [inner] }');
  raw('init', '--quiet');
  execFileSync('mkdir', [join(folder, 'inner')]);
  const error = await fails('status', { path: 'inner' });
  expect(error.message).toContain('outside the permitted paths');
  expect((await fails('status')).code).toBe('not_permitted');
});

test('a remote is reached only where its host or folder is permitted', { timeout: 30_000 }, async () => {
  const elsewhere = temporaryProject();
  const { git, fails, raw, folder } = await given('permissions: { paths: [.], network: [git.example.com] }');
  execFileSync('git', ['init', '--quiet', '--bare', join(folder, 'bare.git')]);
  await git('init');
  await git('add', { paths: ['a.txt'] });
  await git('commit', { message: 'first' });
  for (const address of [
    'https://evil.example/x.git',
    'ssh://git@evil.example/x.git',
    'git@evil.example:x.git',
    'ext::sh -c id',
    elsewhere,
    `file://${elsewhere}`,
  ]) {
    raw('config', 'remote.origin.url', address);
    for (const operation of ['fetch', 'pull', 'push'])
      expect((await fails(operation)).code, `${operation} ${address}`).toBe('not_permitted');
  }
  raw('config', 'remote.origin.url', join(folder, 'bare.git'));
  await git('push', { branch: 'HEAD' });
  expect(
    execFileSync('git', ['--git-dir', join(folder, 'bare.git'), 'log', '--all', '--format=%s'], {
      encoding: 'utf8',
    }),
  ).toContain('first');
});

test('a plus before a branch does not write over what a remote has', { timeout: 30_000 }, async () => {
  const { git, fails, raw } = await given();
  await git('init');
  for (const key of ['name', 'email']) raw('config', `user.${key}`, 'me');
  await git('add', { paths: ['a.txt'] });
  await git('commit', { message: 'first' });
  raw('init', '--quiet', '--bare', 'elsewhere.git');
  raw('remote', 'add', 'origin', './elsewhere.git');
  const branch = raw('branch', '--show-current');
  await git('push', { branch });
  const [first, theirs] = [raw('rev-parse', 'HEAD'), raw('commit-tree', 'HEAD^{tree}', '-m', 'of others')];
  raw('push', '--quiet', '--force', 'origin', `${theirs}:refs/heads/${branch}`);
  expect((await fails('push', { branch })).message).toMatch(/rejected|fetch first/);
  for (const operation of ['push', 'pull'])
    expect((await fails(operation, { branch: `+${branch}` })).code, operation).toBe('bad_parameters');
  expect(raw('-C', 'elsewhere.git', 'rev-parse', branch)).toBe(theirs);
  expect(raw('rev-parse', 'HEAD')).toBe(first);
});

test('whoever has to be asked about a remote is told the address, and of the folder in the same question', async () => {
  const { tool, raw, folder } = await given(
    'permissions: { paths: { allow: [.], ask: [work] }, network: { allow: [free.test], ask: [git.test] } }',
  );
  const repository = join(folder, 'work');
  mkdirSync(repository);
  for (const at of [folder, repository]) execFileSync('git', ['init', '--quiet'], { cwd: at });
  const url = 'https://git.test/x.git';
  for (const at of [folder, repository]) execFileSync('git', ['remote', 'add', 'origin', url], { cwd: at });
  const needs = async (operation: string, input = {}) =>
    tool('git').needs?.({ operation, ...input }, { agent: () => ({}) });
  const host = 'host git.test:443';
  const path = `path ${repository}`;
  expect(await needs('fetch')).toMatchObject({ what: `git fetch with ${url}`, grants: [host] });
  expect(await needs('status', { path: 'work' })).toMatchObject({ grants: [path] });
  expect(await needs('push', { path: 'work' })).toEqual({
    target: 'tool "git"',
    what: `git push in "work"\ngit push with ${url}`,
    because: expect.stringMatching(/paths.*; .*network/),
    grants: [path, host],
  });
  raw('remote', 'set-url', 'origin', 'https://free.test/x.git');
  expect(await needs('fetch')).toBeUndefined();
  raw('remote', 'set-url', '--push', 'origin', 'ssh://git.test/x.git');
  expect(await needs('fetch')).toMatchObject({ grants: ['host git.test:22'] });
});

test('a file that is denied is neither staged nor shown', async () => {
  const { git, fails, raw, folder } = await given('permissions: { paths: { deny: [.env] } }');
  await git('init');
  writeFileSync(join(folder, '.env'), 'KEY=1');
  raw('add', '.env', 'a.txt');
  await git('commit', { message: 'first' });
  expect((await fails('show', { file: '.env' })).code).toBe('not_permitted');
  expect((await fails('add', { paths: ['a.txt', '.ENV'] })).code).toBe('not_permitted');
  expect((await fails('diff', { paths: ['./x/../.env'] })).code).toBe('not_permitted');
  expect(await git('show', { file: 'a.txt' })).toBe('one');
});

test('what is denied is in no stage and no patch that a call asks for without naming it', async () => {
  const { git, raw, folder } = await given(
    'permissions: { paths: { deny: [.env, "**/*.pem", secrets, "k[1]", "**/hid*"] } }',
  );
  await git('init');
  mkdirSync(join(folder, 'sub/hidden'), { recursive: true });
  mkdirSync(join(folder, 'secrets'));
  const denied = ['.env', 'sub/x.PEM', 'secrets/a', 'k[1]', 'sub/hidden/b'];
  for (const name of denied) writeFileSync(join(folder, name), 'hush');
  writeFileSync(join(folder, 'sub/k1'), 'shown');
  await git('add', { paths: ['.'] });
  expect(raw('diff', '--cached', '--name-only').split('\n')).toEqual([
    'a.txt',
    'agent.yml',
    'model.yml',
    'sub/k1',
    'telltale.yml',
  ]);
  raw('add', '--force', '.');
  expect(await git('diff', { staged: true })).toContain('shown');
  expect(await git('diff', { staged: true })).not.toContain('hush');
  await git('commit', { message: 'all' });
  expect(await git('show')).toContain('shown');
  for (const path of ['.', 'sub']) expect(await git('show', { path })).not.toContain('hush');
});

test('a pattern that begins above a repository counts in it, whichever part of it names the way there', async () => {
  const deny = [
    '**/*.pem',
    '**/one/a',
    'repos/*/b',
    'repos/**/c',
    '**/ONE/sub/d',
    '*/e',
    'other/*/f',
    '**/one/**/g',
  ];
  const { git, folder } = await given(`permissions: { paths: { deny: ${JSON.stringify(deny)} } }`);
  const one = join(folder, 'repos/one');
  mkdirSync(join(one, 'sub'), { recursive: true });
  const denied = ['x.pem', 'sub/x.pem', 'a', 'b', 'c', 'sub/c', 'sub/d', 'g', 'sub/g'];
  const free = ['d', 'e', 'f', 'sub/a', 'sub/b', 'sub/e'];
  for (const name of [...denied, ...free]) writeFileSync(join(one, name), 'text');
  await git('init', { path: 'repos/one' });
  await git('add', { path: 'repos/one', paths: ['.'] });
  const staged = execFileSync('git', ['diff', '--cached', '--name-only'], { cwd: one, encoding: 'utf8' });
  expect(staged.trim().split('\n')).toEqual(free);
});

test('a file of a commit is counted from the top of its repository', async () => {
  const { git, fails, raw, folder } = await given('permissions: { paths: { deny: [.env] } }');
  await git('init');
  mkdirSync(join(folder, 'sub'));
  for (const name of ['.env', 'sub/b']) writeFileSync(join(folder, name), 'hush');
  raw('add', '.');
  await git('commit', { message: 'first' });
  expect((await fails('show', { file: '.env', path: 'sub' })).code).toBe('not_permitted');
  expect((await fails('show', { file: '../.env', path: 'sub' })).code).toBe('not_permitted');
  expect(await git('show', { file: 'sub/b', path: 'sub' })).toBe('hush');
});

test('a folder of files that looks like a repository is none: its settings would run programs', async () => {
  const { fails, folder } = await given();
  for (const name of ['sub/objects', 'sub/refs']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'sub/HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(
    join(folder, 'sub/config'),
    `[core]\n\trepositoryformatversion = 0\n\tworktree = ${folder}\n\tfsmonitor = "touch ${folder}/ran; false"\n`,
  );
  expect((await fails('status', { path: 'sub' })).code).toBe('command_failed');
  expect(existsSync(join(folder, 'ran'))).toBe(false);
});

test('only what changes history may not be run again', async () => {
  const { tool } = await given();
  const again = (operation: string) => tool('git').idempotentFor?.({ operation });
  expect(['status', 'diff', 'log', 'show', 'add'].map(again)).toEqual([true, true, true, true, true]);
  expect(['commit', 'merge', 'push', 'checkout'].map(again)).toEqual([false, false, false, false]);
});

test.each([
  ['deny', false],
  ['ask', false],
  ['{ allow: ["git *"] }', false],
  ['allow', true],
])('hooks of a repository with shell: %s run: %s', async (shell, runs) => {
  const { git, raw, folder } = await given(`permissions: { shell: ${shell} }\n`);
  await git('init');
  mkdirSync(join(folder, 'hooks'));
  writeFileSync(join(folder, 'hooks', 'pre-commit'), '#!/bin/sh\necho ran > hooks/ran.txt\n');
  chmodSync(join(folder, 'hooks', 'pre-commit'), 0o755);
  raw('config', 'core.hooksPath', 'hooks');
  await git('add', { paths: ['a.txt'] });
  await git('commit', { message: 'first' });
  expect(existsSync(join(folder, 'hooks/ran.txt'))).toBe(runs);
});
