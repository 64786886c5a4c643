import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRepetition, MAX_PERIOD, readRepetition, repeatedEnd, untilLook } from '../../src/lib/text.ts';
import { moreRuns } from '../more-runs.ts';

/** The runs that are seen at each look, for a text in pieces. */
function runsOf(text: string, cut: (at: number) => number): readonly number[] {
  const repetition = createRepetition();
  const runs: number[] = [];
  for (let at = 0; at < text.length; ) {
    const to = Math.min(untilLook(repetition, text, at), at + cut(at));
    if (readRepetition(repetition, text.slice(at, to))) runs.push(repetition.run);
    at = to;
  }
  return runs;
}

const different = (length: number) =>
  Array.from({ length }, (_, at) => `${at},`)
    .join('')
    .slice(0, length);

it('a text that says something has no run, and one that is repeated a growing one', () => {
  expect(new Set(runsOf(different(100_000), () => 5_000))).toEqual(new Set([0]));
  expect(runsOf('ab'.repeat(25_000), () => 5_000)).toEqual([16_384, 24_576, 32_768, 40_960]);
});

it('is seen for every period up to the longest, wherever it begins and however it is cut', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: MAX_PERIOD }),
      fc.integer({ min: 0, max: 20_000 }),
      fc.integer({ min: 1, max: 9_000 }),
      (period, before, piece) => {
        const text = different(before) + different(period).repeat(Math.ceil(60_000 / period));
        const runs = runsOf(text, () => piece);
        expect(Math.max(...runs)).toBeGreaterThanOrEqual(32_768);
        expect(runs).toEqual(runsOf(text, () => text.length));
        const end = repeatedEnd(text);
        expect(end?.from).toBeLessThanOrEqual(before);
        expect(period % (end?.period ?? 0)).toBe(0);
      },
    ),
    { numRuns: moreRuns(30) },
  );
});

it('a run ends with what is not repeated', () => {
  const runs = runsOf(`${'x'.repeat(60_000)}${different(40_000)}`, () => 1_000);
  expect(runs.at(-1)).toBe(0);
  expect(repeatedEnd(`${'x'.repeat(60_000)}y`)).toBeUndefined();
});
