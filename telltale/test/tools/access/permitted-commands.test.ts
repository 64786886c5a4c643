import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Rules } from '../../../src/manifest/schema/permissions.ts';
import { createPermittedCommands } from '../../../src/tools/access/permissions.ts';

const decided = (rules: Partial<Rules>, line: string, forSh = true): string => {
  const commands = createPermittedCommands({ allow: [], ask: [], deny: [], ...rules }, { readsLines: forSh });
  try {
    return commands.grantFor(line) === undefined ? 'allow' : 'ask';
  } catch {
    return 'deny';
  }
};

const LISTS = { allow: ['git *'], ask: ['git push *', '*'], deny: ['rm *'] };

test('a denied command beats one to ask for, which beats an allowed one', () => {
  expect(decided(LISTS, 'git log')).toBe('allow');
  expect(decided(LISTS, 'git push origin')).toBe('ask');
  expect(decided(LISTS, 'rm -rf x')).toBe('deny');
  expect(decided(LISTS, 'make')).toBe('ask');
  expect(decided({ ...LISTS, deny: ['git push *'] }, 'git push origin')).toBe('deny');
});

test('a line of more than one command is never allowed by a pattern', () => {
  for (const line of ['git log; make', 'git log | sh', 'git $(make)', 'git log > x', 'X=1 git log'])
    expect(decided(LISTS, line), line).toBe('ask');
  expect(decided({ ...LISTS, ask: [] }, 'git log; make')).toBe('deny');
  expect(decided({ allow: ['*'], deny: ['rm *'] }, 'x=rm; $x -rf y')).toBe('ask');
});

test('a denied command is found inside a longer line, too', () => {
  for (const line of ['git log; rm -rf x', 'git log && rm x', 'echo $(rm x)', 'X=1 rm x', '"rm" x'])
    expect(decided(LISTS, line), line).toBe('deny');
});

test('a word alone counts for every line', () => {
  expect(decided({ allow: ['*'] }, 'a; b | c')).toBe('allow');
  expect(decided({ ask: ['*'] }, 'ls')).toBe('ask');
  expect(decided({ deny: ['*'] }, 'ls')).toBe('deny');
});

test('what no list names is refused, unless a star says what becomes of it', () => {
  expect(decided({ allow: ['git *'] }, 'make')).toBe('deny');
  expect(decided({ allow: ['git *'], deny: ['*'], ask: ['*'] }, 'make')).toBe('deny');
  expect(decided({ allow: ['git *'], deny: ['*'], ask: ['*'] }, 'git log')).toBe('allow');
});

test('where the shell reads lines in another way, patterns allow nothing', () => {
  expect(decided(LISTS, 'git log', false)).toBe('ask');
  expect(decided(LISTS, 'rm x', false)).toBe('deny');
});

test('an approval is for that line and no other', () => {
  const commands = createPermittedCommands({ allow: [], ask: ['*'], deny: [] }, { readsLines: true });
  const granted = [commands.grantFor('ls') ?? ''];
  expect(() => commands.check('ls', granted)).not.toThrow();
  expect(() => commands.check('ls -a', granted)).toThrow(/nobody could be asked/);
  expect(() => commands.check('ls')).toThrow(/nobody could be asked/);
});

const DENIES_RM = { allow: ['*'], deny: ['rm *'] };

test.each([
  '/bin/rm -rf x',
  '/usr/bin/../bin/rm x',
  './rm x',
  '\\rm x',
  "'rm' x",
  '"r"m x',
  'r\\\nm x',
  'X=1 /bin/rm x',
  '! rm x',
  '{ rm x; }',
  'if true; then rm x; fi',
  'case a in a) rm x;; esac',
  'for f in a; do rm $f; done',
  '2>&1 rm x',
  '>out rm x',
  'echo "$(rm x)"',
  'cat <(rm x)',
  'command rm x',
  'command -p rm x',
  'builtin rm x',
  'exec rm x',
  'exec -a harmless rm x',
  'env rm x',
  'env -i A=b C=d rm x',
  'env -u HOME rm x',
  "env -S 'rm -rf' x",
  'env --split-string="rm x"',
  '/usr/bin/env /bin/rm x',
  'nice rm x',
  'nice -n 5 rm x',
  'nice -n5 rm x',
  'ionice -c 2 -n 0 rm x',
  'timeout 5 rm x',
  'timeout -k 1 -s KILL 5 rm x',
  'timeout --signal=KILL 5 rm x',
  'stdbuf -oL rm x',
  'nohup rm x',
  'setsid -w rm x',
  'time rm x',
  'time -p rm x',
  'sudo rm x',
  'sudo -u root -E rm x',
  'doas rm x',
  'busybox rm x',
  'toybox rm x',
  'chroot / rm x',
  'flock lock rm x',
  "flock lock -c 'rm x'",
  'unshare -r rm x',
  "su -c 'rm x' root",
  "script -c 'rm x' log",
  'xargs rm',
  'xargs -n 1 -P 4 rm',
  'xargs -I {} rm {}',
  'find . -name x -exec rm {} +',
  'find . -execdir rm {} \\;',
  "watch -n 1 'rm x'",
  "eval 'rm x'",
  'eval rm x',
  "trap 'rm x' EXIT",
  'sh -c "rm x"',
  "bash -lc 'rm x'",
  "sh -e -c 'cd /; rm x'",
  "bash --norc -c 'rm x'",
  "bash -O extglob -c 'rm x'",
  "/bin/dash -c 'env /bin/rm x'",
  'sh -c "sh -c \'rm x\'"',
  'nohup nice -n 5 timeout 5 env A=b sh -c "exec rm x"',
  'env env env env env env env env env rm x',
  '/lib64/ld-linux-x86-64.so.2 /bin/rm x',
])('%j is denied where rm is', (line) => {
  expect(decided(DENIES_RM, line)).toBe('deny');
  expect(decided({ allow: ['*'], ask: ['rm *'] }, line)).toBe('ask');
});

test.each([
  'git rm x',
  'echo rm x',
  'grep -r rm x',
  'timeout 5 echo rm',
  'env A=rm ls',
  'rmdir x',
  'env rmdir x',
])('%j is not denied where rm is', (line) => {
  expect(decided(DENIES_RM, line)).toBe('allow');
});

test.each([
  '$X x',
  'r${Y}m x',
  '/bin/r? x',
  "$'rm' x",
  '$(echo rm) x',
  'sh -c "$X"',
  'r{m,} x',
  'xargs -a list sh',
  "sh -c 'eval $X'",
  'eval "$X"',
  'f() { "$@"; }; f ls',
])('%j is never allowed where something is denied, since it may be that', (line) => {
  expect(decided(DENIES_RM, line)).not.toBe('allow');
  expect(decided({ allow: ['sh *', 'eval *', 'xargs *'], ask: ['*'], deny: ['rm *'] }, line)).not.toBe(
    'allow',
  );
});

test('a link to a denied program is denied, whatever the name of the link', () => {
  const folder = mkdtempSync(join(tmpdir(), 'telltale-deny-'));
  try {
    symlinkSync('/bin/rm', join(folder, 'tidy'));
    symlinkSync('tidy', join(folder, 'sweep'));
    const place = { readsLines: true, path: `${folder}:/usr/bin:/bin`, folder };
    const commands = createPermittedCommands({ allow: ['*'], ask: [], deny: ['rm *'] }, place);
    for (const line of [
      './tidy x',
      './sweep x',
      `${folder}/sweep x`,
      'sweep x',
      'env ./sweep x',
      'cd /; sweep x',
    ])
      expect(() => commands.check(line), line).toThrow(/not allowed to run the command/);
    const byPath = createPermittedCommands({ allow: ['*'], ask: [], deny: ['/bin/rm *'] }, place);
    for (const line of ['rm x', '/usr/bin/../bin/rm x', './sweep x'])
      expect(() => byPath.check(line), line).toThrow(/not allowed to run the command/);
    expect(() => byPath.check('ls x')).not.toThrow();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('where the system does not tell names apart by case, a denied program is denied in any case', () => {
  const rules = { allow: ['*'], ask: [], deny: ['rm *', 'Del *'] };
  const commands = createPermittedCommands(rules, { readsLines: true, ignoresCase: true });
  for (const line of ['RM x', '/bin/Rm x', 'ENV rM x'])
    expect(() => commands.check(line)).toThrow(/not allowed to run the command/);
  const windows = createPermittedCommands(rules, { readsLines: false, ignoresCase: true });
  for (const line of ['del x', 'C:\\tools\\RM.exe x', 'd^el x', 'cmd /c del x'])
    expect(() => windows.check(line), line).toThrow(/not allowed to run the command/);
});

test('a program by its path is not allowed by a pattern with a bare name', () => {
  const rules = { allow: ['git *', 'g* log', './run *'], ask: ['*'] };
  expect(decided(rules, 'git log')).toBe('allow');
  for (const line of ['/tmp/git log', './git log', 'g/evil log', '../git status'])
    expect(decided(rules, line), line).toBe('ask');
  expect(decided(rules, './run fast')).toBe('allow');
});
