import { describe, expect, test } from 'vitest';
import { createTagParser } from '../../src/parser/tags/tag-parser.ts';
import { chunksOf } from './chunking.ts';

const LENGTH = 1_000_000;
/** Linear work takes about a second here; quadratic work takes an hour. */
const LIMIT_MS = 15_000;

const repeated = (unit: string, length = LENGTH) => unit.repeat(Math.ceil(length / unit.length));

function read(input: string, sizes: readonly number[]): number {
  const parser = createTagParser({});
  const started = performance.now();
  for (const chunk of chunksOf(input, sizes)) parser.push(chunk);
  parser.end();
  expect(parser.consumed).toBe(input.length);
  return performance.now() - started;
}

// biome-ignore format: a table
const UNITS = [
  '<', '</', '`', '~', '\n', '\r', ' ', '"', '\\', '\u0000', '\ud83d', '\ude00', '```\n', '` ', '<if ', '<thought>', '</thought>', '<action>', '<action>{',
  '<action>{"', '<foreach in=x>', '<thought a="', '<parallel>', '<parallel id="g">', '<else/>', '<if test="x">', '<action>{"name":"n"}</action>', '</action',
];

describe.each(UNITS)('a million characters of %j', (unit) => {
  test('are read in linear time, in chunks of a kilobyte', { timeout: 60_000 }, () => {
    expect(read(repeated(unit), [4093, 1, 257])).toBeLessThan(LIMIT_MS);
  });
});

describe('a million characters, one at a time,', () => {
  test.each([
    ['of a string in a body', '<action>{"name": "', 'a', ''],
    ['of closing tags in a string', '<action>{"name": "', '</action> x', '"}</action>'],
    ['of brackets in a body', '<metadata>{"a": ', '[', ''],
    ['of white space before a body', '<action>', ' \n', '{}'],
    ['of a block', '<thought>\n```\n', 'x <thought> </thought>\n', ''],
    ['of closing tags in a span', '<thought>`', '</thought> ', ''],
    ['of stray closing tags in many thoughts', repeated('<thought>', LENGTH / 2), '</if>', ''],
    ['of closing and opening tags', '', '<thought></thought>', ''],
    ['of automatic ids', '', '<action>{"name":"n"}</action>', ''],
  ])('%s are read in linear time', { timeout: 60_000 }, (_, before, unit, after) => {
    const input = before + repeated(unit, LENGTH - before.length) + after;
    expect(read(input, [1])).toBeLessThan(LIMIT_MS);
  });
});
