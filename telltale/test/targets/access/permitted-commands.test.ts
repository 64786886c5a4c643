import { expect, test } from 'vitest';
import type { Rules } from '../../../src/manifest/schema/permissions.ts';
import { createPermittedCommands } from '../../../src/targets/access/permitted-commands.ts';

const decided = (rules: Partial<Rules>, line: string, forSh = true): string => {
  const commands = createPermittedCommands({ allow: [], ask: [], deny: [], ...rules }, forSh);
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
  const commands = createPermittedCommands({ allow: [], ask: ['*'], deny: [] }, true);
  const granted = [commands.grantFor('ls') ?? ''];
  expect(() => commands.check('ls', granted)).not.toThrow();
  expect(() => commands.check('ls -a', granted)).toThrow(/nobody was asked/);
  expect(() => commands.check('ls')).toThrow(/nobody was asked/);
});
