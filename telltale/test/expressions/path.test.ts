import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FIELD_NAME, formatPath, PLAIN_NAME, parsePath } from '../../src/expressions/path.ts';

const read = (text: string, name = PLAIN_NAME) => {
  const path = parsePath(text, name);
  return path.ok ? path.value : `${path.error.offset}: ${path.error.message}`;
};

describe('a path', () => {
  it.each<[string, readonly (string | number)[]]>([
    ['a', ['a']],
    ['a.b-c._d1', ['a', 'b-c', '_d1']],
    ['a[0][12].b', ['a', 0, 12, 'b']],
    ['["a.b"]', ['a.b']],
    ['a[""]["\\"x\\u0041"].b', ['a', '', '"xA', 'b']],
    ['[0]', [0]],
  ])('%s', (text, path) => {
    expect(read(text)).toEqual(path);
    expect(read(text, FIELD_NAME)).toEqual(path);
  });

  it.each([
    ['', '0: The path "" is empty.'],
    ['.a', '0: The path ".a" lacks a name.'],
    ['a.', '2: The path "a." lacks a name.'],
    ['a..b', '2: The path "a..b" lacks a name.'],
    ['a b', '1: The path "a b" has " " where a step should begin.'],
    ['a[', '1: The path "a[" has a bracket that cannot be read.'],
    ['a[01]', '1: The path "a[01]" has a bracket that cannot be read.'],
    ['a[-1]', '1: The path "a[-1]" has a bracket that cannot be read.'],
    ['a[1234567890]', '1: The path "a[1234567890]" has a bracket that cannot be read.'],
    ['a["\\q"]', '1: The path "a[\\"\\\\q\\"]" has a bracket that cannot be read.'],
    ['a["b]', '1: The path "a[\\"b]" has a bracket that cannot be read.'],
    ['a[0]b', '4: The path "a[0]b" has "b" where a step should begin.'],
    ['1a', '0: The path "1a" lacks a name.'],
  ])('%j cannot be read', (text, why) => {
    expect(read(text)).toBe(why);
  });

  it('of a condition map may have any other character in its names', () => {
    expect(read('1 ä>=-x.y z', FIELD_NAME)).toEqual(['1 ä>=-x', 'y z']);
  });

  it('may have 32 steps', () => {
    expect(read(`a${'.b'.repeat(31)}`)).toHaveLength(32);
    expect(read(`a${'[0]'.repeat(32)}`)).toMatch(/ has more than 32 steps\.$/);
  });

  it('is written as it is read', () => {
    const segment = fc.oneof(
      fc.nat(1_000),
      fc.string({ maxLength: 5 }),
      fc.constantFrom('a', 'b-c', '0', ''),
    );
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 8 }), (path) => {
        expect(read(formatPath(path))).toEqual(path);
      }),
    );
    expect(formatPath(['a', 0, 'b c', '1x', 'd'])).toBe('a[0]["b c"]["1x"].d');
  });
});
