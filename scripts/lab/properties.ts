import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { StageResult } from '../check/stage-result.ts';

/** Random tests may live in these folders. Browser tests have none. */
const TEST_FOLDERS = ['telltale/test', 'scripts/test'];
/** The seeds of neighboring rounds differ in many bits, so that they have no cases in common. */
const SEED_STEP = 0x9e37_79b9;
/** Seeds have 31 bits: fast-check takes no larger ones, and a negative one looks like an option. */
const SEEDS = 2 ** 31;

export interface SeedSearch {
  /** The seed of the first round. */
  readonly seed: number;
  /** No round begins after this time. */
  readonly seconds: number;
  readonly now: () => number;
  readonly print: (line: string) => void;
  /** Runs every random test with one seed. */
  readonly runWith: (seed: number) => Promise<StageResult>;
}

export interface SeedSearchResult {
  readonly rounds: number;
  readonly passed: number;
  readonly failed: number;
}

/** Runs random tests with one seed after the other until the time is up, and prints how to repeat each failure. */
export async function searchSeeds(options: SeedSearch): Promise<SeedSearchResult> {
  const { seconds, now, print, runWith } = options;
  const deadline = now() + seconds * 1000;
  let [rounds, passed, failed] = [0, 0, 0];
  do {
    const seed = (options.seed + rounds * SEED_STEP) % SEEDS;
    const started = now();
    const result = await runWith(seed);
    rounds++;
    passed += result.passed;
    failed += result.failures.length;
    const took = ((now() - started) / 1000).toFixed(0);
    print(
      `round ${rounds}, seed ${seed}: ${result.passed} passed, ${result.failures.length} failed, ${took} s`,
    );
    for (const failure of result.failures) print(`  ✗ ${failure}\n    ${repeatCommand(seed, failure)}`);
    for (const found of counterexamplesIn(result.output)) print(`    ${found}`);
  } while (now() < deadline);
  print(`${rounds} ${rounds === 1 ? 'seed' : 'seeds'}, ${passed} tests passed, ${failed} failed.`);
  return { rounds, passed, failed };
}

/** Every failure names its test file. */
function repeatCommand(seed: number, failure: string): string {
  const file = /\S+\.test\.ts/.exec(failure)?.[0] ?? '';
  return `npm test -- --seed ${seed} --only unit ${file}`.trimEnd();
}

/** What fast-check prints of a property that failed. */
function counterexamplesIn(output: string): readonly string[] {
  return output.split('\n').filter((line) => /^\s*(\{ seed: |Counterexample: )/.test(line));
}

/** Test files that use fast-check and whose path contains one of the filters. */
export function filesWithProperties(root: string, filters: readonly string[]): readonly string[] {
  return TEST_FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true }),
  )
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => /from 'fast-check'/.test(readFileSync(path, 'utf8')))
    .map((path) => relative(root, path))
    .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
    .sort();
}
