import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchesPattern } from '../../../src/tools/access/permitted-paths.ts';

test.each([
  ['*.pem', 'a.pem', true],
  ['*.pem', 'x/a.pem', false],
  ['**/*.pem', 'a.pem', true],
  ['**/*.pem', 'x/y/a.pem', true],
  ['**/*.pem', 'x/a.pem.txt', false],
  ['*.d', 'conf.d/inner/file', true],
  ['**', 'a/b', true],
  ['**', '', false],
  ['a/**', 'a', false],
  ['a/**', 'a/b/c', true],
  ['a/**/z', 'a/z', true],
  ['a/**/z', 'a/b/c/z', true],
  ['a/**/z', 'b/z', false],
  ['?.env', 'a.env', true],
  ['?.env', '.env', false],
])('%j on %j: %s', (pattern, path, expected) => {
  expect(matchesPattern(pattern.split('/'), path)).toBe(expected);
});

test('what lies in something that is named is named', () => {
  const segment = fc.stringMatching(/^[abx.]{1,4}$/);
  const pattern = fc.array(fc.oneof(segment, fc.constantFrom('*', '**', 'a*', '?b')), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(pattern, fc.array(segment, { maxLength: 4 }), segment, (wanted, path, below) => {
      if (matchesPattern(wanted, path.join('/')))
        expect(matchesPattern(wanted, [...path, below].join('/'))).toBe(true);
    }),
  );
});

test('a pattern of many stars takes no long time', () => {
  const stars = Array.from({ length: 40 }, () => '**');
  expect(matchesPattern([...stars, 'z'], 'a/'.repeat(1_000))).toBe(false);
  expect(matchesPattern([`${'*a'.repeat(40)}z`], 'a'.repeat(4_000))).toBe(false);
});
