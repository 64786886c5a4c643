import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainJson } from '../../src/targets/output/plain-json.ts';

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
