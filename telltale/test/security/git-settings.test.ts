import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { attack, attackedProject, shell, textOf } from './hostile-agent.ts';

const git = (cwd: string, ...args: readonly string[]) =>
  execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@example.com', ...args], {
    cwd,
    encoding: 'utf8',
  });

/** A project in a repository as plain as git allows: without the folder of hooks. */
function repository(commands: readonly string[]): string {
  const folder = attackedProject({
    tools: ['builtin:shell'],
    permissions: '{ shell: allow, sandbox: require }',
    files: { 'work/x.txt': 'x' },
    calls: commands.map(shell),
  });
  git(folder, 'init', '--quiet', '--template=');
  rmSync(join(folder, '.git/hooks'), { recursive: true, force: true });
  return folder;
}

/** Settings that have git run a program. */
const EVIL = '"[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch work/escaped;false\\n"';

test("a command in the sandbox leads a person's git to no settings of its own", {
  timeout: 60_000,
}, async () => {
  const folder = repository([
    `cp -r .git work/evil && printf ${EVIL} > work/evil/config`,
    'echo ../work/evil > .git/commondir',
    'rm -f .git/commondir; ln -s ../work/evil/config .git/commondir',
    `printf ${EVIL} > .git/config.worktree`,
    'mkdir -p .git/hooks; printf "#!/bin/sh\\ntouch work/escaped\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit',
  ]);
  await attack(folder);
  expect(textOf(folder, 'work/evil/config')).toContain('fsmonitor');
  git(folder, 'status');
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', 'first');
  expect(existsSync(join(folder, 'work/escaped'))).toBe(false);
  for (const name of ['commondir', 'config.worktree', 'hooks'])
    expect(readdirSync(join(folder, '.git'))).not.toContain(name);
});

test('a command in the sandbox changes no settings of submodules and worktrees', {
  timeout: 60_000,
}, async () => {
  const folder = repository([
    'echo evil >> .git/modules/a/b/config; echo evil > .git/modules/a/b/commondir; mv .git/modules/a/b .git/modules/a/c',
    'echo evil > .git/worktrees/side/commondir',
    'echo free > .git/modules/a/b/description',
  ]);
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', 'first');
  git(folder, 'worktree', 'add', '--quiet', '.git/elsewhere', '-b', 'side');
  cpSync(join(folder, '.git/worktrees/elsewhere'), join(folder, '.git/worktrees/side'), { recursive: true });
  mkdirSync(join(folder, '.git/modules/a/b'), { recursive: true });
  for (const name of ['HEAD', 'config', 'refs'])
    cpSync(join(folder, '.git', name), join(folder, '.git/modules/a/b', name), { recursive: true });
  await attack(folder);
  expect(textOf(folder, '.git/modules/a/b/config')).not.toContain('evil');
  expect(textOf(folder, '.git/modules/a/b/commondir')).toBeUndefined();
  expect(textOf(folder, '.git/worktrees/side/commondir')).not.toContain('evil');
  expect(textOf(folder, '.git/modules/a/b/description')).toBe('free\n');
});

test('a command in the sandbox commits, and nothing of the sandbox is left behind', {
  timeout: 60_000,
}, async () => {
  const folder = repository([
    'git -c user.name=a -c user.email=a@example.com commit --allow-empty -qm one && echo done',
  ]);
  const before = readdirSync(join(folder, '.git'));
  expect((await attack(folder)).match(/"stdout":"done/g)).toHaveLength(1);
  expect(git(folder, 'log', '--format=%s')).toBe('one\n');
  const made = readdirSync(join(folder, '.git')).filter((name) => !before.includes(name));
  expect(made.sort()).toEqual(['COMMIT_EDITMSG', 'index', 'logs']);
});

test('a folder ".git" that is no repository is not made one by a command', { timeout: 60_000 }, async () => {
  const folder = attackedProject({
    tools: ['builtin:shell'],
    permissions: '{ shell: allow, sandbox: require }',
    files: { '.git/keep': 'x' },
    calls: [shell('git init -q --template= . && git config core.fsmonitor "touch escaped"')],
  });
  await attack(folder);
  expect(readdirSync(join(folder, '.git'))).toEqual(['keep']);
});
