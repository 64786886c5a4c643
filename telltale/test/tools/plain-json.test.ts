import { Readable } from 'node:stream';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainJson } from '../../src/tools/output/output.ts';

test('JSON comes out as it went in, as a copy', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const copy = plainJson(value, 'it', 1_000_000);
      expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
      if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value);
    }),
  );
});

test('whatever is returned, it is JSON of bounded size or a typed error', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    withNullPrototype: true,
  });
  fc.assert(
    fc.property(anything, (value) => {
      let copy: unknown;
      try {
        copy = plainJson(value, 'it', 200);
      } catch (thrown) {
        expect(thrown).toHaveProperty('code', expect.stringMatching(/^(bad_output|output_too_large)$/));
        return;
      }
      // -0 is 0 in JSON.
      expect(JSON.stringify(JSON.parse(JSON.stringify(copy)))).toBe(JSON.stringify(copy));
    }),
  );
});

test('a sparse list of a billion places is refused, not walked', () => {
  const list: unknown[] = [];
  list.length = 1_000_000_000;
  expect(() => plainJson(list, 'it', 1000)).toThrow('more than 1000 bytes');
});

test.each<readonly [string, unknown, string]>([
  ['a Response', new Response('x'), 'it is a Response.'],
  ['a stream of the web', new ReadableStream(), 'it is a stream.'],
  ['a stream of Node', Readable.from(['x']), 'it is a stream.'],
  ['an asynchronous generator', (async function* () {})(), 'it is a stream.'],
  ['a generator', (function* () {})(), 'it is an iterator.'],
  ['a WeakMap', new WeakMap(), 'it is an object of WeakMap that JSON shows as {}.'],
  ['Headers', { headers: new Headers({ a: 'b' }) }, '"/headers" is an iterator.'],
  ['an invalid Date', { at: new Date('soon') }, '"/at" is an invalid Date.'],
])('%s is refused, and not an empty object or null', (_, value, found) => {
  expect(() => plainJson(value, 'it', 1000)).toThrow(`What it returned is not JSON: ${found}`);
});

test('an object of a class counts by its fields, and one without any of another realm is a plain one', () => {
  class Point {
    x = 1;
  }
  expect(plainJson(new Point(), 'it', 1000)).toEqual({ x: 1 });
  expect(plainJson(runInNewContext('({})'), 'it', 1000)).toEqual({});
  expect(plainJson([{}, Object.create(null)], 'it', 1000)).toEqual([{}, {}]);
});
