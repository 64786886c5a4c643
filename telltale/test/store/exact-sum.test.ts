import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isExactSum } from '../../src/store/store-errors.ts';
import { moreRuns } from '../more-runs.ts';

/** Whole numbers of every size, and those beside which another one is lost. */
const whole = fc
  .tuple(
    fc.integer({ min: -(2 ** 31), max: 2 ** 31 }),
    fc.integer({ min: 0, max: 900 }),
    fc.integer({ min: -4, max: 4 }),
  )
  .map(([n, power, beside]) => n * 2 ** power + beside);

test('a sum of whole numbers is exact where it is theirs', () => {
  fc.assert(
    fc.property(whole, whole, (before, by) => {
      const sum = before + by;
      const isTheirs = BigInt(sum) === BigInt(before) + BigInt(by);
      expect(isExactSum(before, by)).toBe(isTheirs);
    }),
    { numRuns: moreRuns(2_000) },
  );
});

test.each([
  [0.1, 0.2, true],
  [2 ** 53, 0.5, false],
  [1e300, 0.5, false],
  [0.5, 1e300, false],
  [0, 0.5, true],
  [0.5, 0, true],
])('%d and %d: none is lost in the other: %s', (before, by, isExact) => {
  expect(isExactSum(before, by)).toBe(isExact);
});
