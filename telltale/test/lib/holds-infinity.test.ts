import fc from 'fast-check';
import { expect, it } from 'vitest';
import { holdsInfinity } from '../../src/lib/json.ts';
import { moreRuns } from '../more-runs.ts';

const hasOne = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).some(hasOne)
    : typeof value === 'number' && !Number.isFinite(value);

const digits = (least: number, most: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: least, maxLength: most });

/** A number as JSON writes it, near the end of what a double holds more often than not. */
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.constantFrom('1', '9', '17'),
    fc.oneof(digits(0, 3), digits(190, 330)),
    fc.option(digits(1, 210), { nil: undefined }),
    fc.option(
      fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), fc.integer({ min: 0, max: 400 }), digits(0, 1)),
      {
        nil: undefined,
      },
    ),
  )
  .map(
    ([sign, first, whole, part, exponent]) =>
      `${sign}${first}${whole}${part === undefined ? '' : `.${part}`}${exponent === undefined ? '' : `${exponent[0]}${exponent[2]}${exponent[1]}`}`,
  );

it('a number that is not finite is found wherever it stands and however it is written', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 300 }), fc.array(number, { maxLength: 3 }), (word, numbers) => {
      const text = `{${JSON.stringify(`k${word}`)}: [${numbers.join(', ')}, {"a": "1e999"}]}`.replace(
        '[, ',
        '[',
      );
      const value: unknown = JSON.parse(text);
      expect(holdsInfinity(value)).toBe(hasOne(value));
    }),
    { numRuns: moreRuns(500) },
  );
});

it('a long list of large numbers is walked to its end', () => {
  const many = `[${'1e300,'.repeat(300_000)}1e309]`;
  expect(holdsInfinity(JSON.parse(many))).toBe(true);
});

it('what is nested deeper than calls may be is walked, too', () => {
  const nested = (innermost: string) => `${'['.repeat(20_000)}${innermost}${']'.repeat(20_000)}`;
  expect(holdsInfinity(JSON.parse(nested('1e999')))).toBe(true);
  expect(holdsInfinity(JSON.parse(nested('1e300')))).toBe(false);
});
