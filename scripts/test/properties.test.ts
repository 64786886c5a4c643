import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { StageResult } from '../check/stage-result.ts';
import { filesWithProperties, searchSeeds } from '../lab/properties.ts';
import { runCaptured } from '../launch/run-captured.js';

const ROOT = join(import.meta.dirname, '..', '..');

/** Each round takes ten seconds. */
async function search(seconds: number, resultFor: (round: number) => StageResult) {
  let time = 0;
  const lines: string[] = [];
  const seeds: number[] = [];
  const found = await searchSeeds({
    seed: 7,
    seconds,
    now: () => time,
    print: (line) => lines.push(line),
    runWith: async (seed) => {
      seeds.push(seed);
      time += 10_000;
      return resultFor(seeds.length);
    },
  });
  return { found, lines, seeds };
}

const passed: StageResult = { passed: 3, failures: [], output: '' };

describe('the search for failing seeds', () => {
  test('begins with the given seed, uses another one each round, and stops when the time is up', async () => {
    const { found, seeds } = await search(35, () => passed);
    expect(found).toEqual({ rounds: 4, passed: 12, failed: 0 });
    expect(seeds[0]).toBe(7);
    expect(new Set(seeds).size).toBe(4);
    for (const seed of seeds) expect(seed).toBeLessThan(2 ** 31);
  });

  test('prints the counterexample of a failure and the command that repeats it, and goes on', async () => {
    const failed: StageResult = {
      passed: 2,
      failures: ['telltale/test/lib/ids.test.ts > ids > sort by time'],
      output: 'Error: Property failed after 5 tests\n{ seed: 7, path: "4:0" }\nCounterexample: [1]\n',
    };
    const { found, lines } = await search(15, (round) => (round === 1 ? failed : passed));
    expect(found).toEqual({ rounds: 2, passed: 5, failed: 1 });
    expect(lines).toEqual([
      'round 1, seed 7: 2 passed, 1 failed, 10 s',
      '  ✗ telltale/test/lib/ids.test.ts > ids > sort by time\n    npm test -- --seed 7 --only unit telltale/test/lib/ids.test.ts',
      '    { seed: 7, path: "4:0" }',
      '    Counterexample: [1]',
      expect.stringMatching(/^round 2, seed \d+: 3 passed, 0 failed, 10 s$/),
      '2 seeds, 5 tests passed, 1 failed.',
    ]);
  });

  test('takes the test files that use fast-check and match a filter', () => {
    const files = filesWithProperties(ROOT, ['lib/ids', 'no such file']);
    expect(files).toEqual(['telltale/test/lib/ids.test.ts']);
    expect(filesWithProperties(ROOT, []).length).toBeGreaterThan(files.length);
  });
});

test('every property that says how often it runs does so CHECK_RUNS times as often', () => {
  const fixedRuns = /\.(?:assert|check)\([^;]*?numRuns: \d/;
  // Draws a single case to see the seed.
  const files = filesWithProperties(ROOT, []).filter((file) => !file.endsWith('scripts/test/check.test.ts'));
  const fixed = files.filter((file) => fixedRuns.test(readFileSync(join(ROOT, file), 'utf8')));
  expect(fixed).toEqual([]);
});

test('npm run lab -- properties runs the chosen files and reports a seed a line', async () => {
  const { code, output } = await runCaptured(
    process.execPath,
    ['scripts/lab.ts', 'properties', 'lib/ids', '--seconds', '0', '--seed', '7'],
    { cwd: ROOT },
  );
  expect(output).toMatch(
    /^properties: 1 test files, 0 s, first seed 7\nround 1, seed 7: [1-9]\d* passed, 0 failed/,
  );
  expect(output).toMatch(/\n1 seed, [1-9]\d* tests passed, 0 failed\.\n$/);
  expect(code).toBe(0);
});
