import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchesCommand, parsePlainCommand } from '../../../src/tools/access/permissions.ts';

test.each([
  ['git log -n 3', ['git', 'log', '-n', '3']],
  ['  git\tcommit -m "two words" ', ['git', 'commit', '-m', 'two words']],
  [`echo 'a $b; c' d"e"f`, ['echo', 'a $b; c', 'def']],
  ['ls ""', ['ls', '']],
])('%j is one plain command', (line, words) => {
  expect(parsePlainCommand(line)).toEqual(words);
});

test.each([
  'git x; rm -rf /',
  'git x && rm',
  'git x | sh',
  'git x & rm',
  'git x\nrm',
  'git x\rrm',
  'git $(rm)',
  'git `rm`',
  'git "$(rm)"',
  'git "`rm`"',
  'git > file',
  'git < file',
  'git *',
  'git a?',
  'git [ab]',
  'git {a,b}',
  'git ~/x',
  'git \\; rm',
  '(git)',
  'git #x',
  'PATH=/tmp git log',
  'git "unclosed',
  "git 'unclosed",
  'git a\0b',
  '',
  '   ',
  '""',
])('%j is more than one plain command', (line) => {
  expect(parsePlainCommand(line)).toBeUndefined();
});

test('what is read as words is what a shell would read', () => {
  const word = fc.stringMatching(/^[A-Za-z0-9_./:@%+,^-]{1,8}$/);
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 6 }), (words) => {
      expect(parsePlainCommand(words.map((each) => `'${each}'`).join(' '))).toEqual(words);
      expect(parsePlainCommand(words.join('  '))).toEqual(words);
    }),
  );
});

test.each([
  ['git *', 'git log', true],
  ['git *', 'git', true],
  ['git *', 'gitx log', false],
  ['git log', 'git log', true],
  ['git log', 'git log -p', false],
  ['npm run test:*', 'npm run test:unit', true],
  ['npm run test:*', 'npm run build', false],
  ['npm run test:*', 'npm run test:a b', false],
  ['*.sh *', 'x.sh -a', true],
  ['a*b*c', 'axxbyyc', true],
  ['a*b*c', 'acb', false],
  ['a*a', 'a', false],
])('the pattern %j on %j: %s', (pattern, line, expected) => {
  expect(matchesCommand(pattern, line.split(' '))).toBe(expected);
});
