import { err, ok, type Result } from '../../telltale/src/lib/errors.ts';

/** Where there is no commit, as in an unpacked archive. */
const WITHOUT_COMMIT = 1;

/**
 * The seed of random tests: of a commit its own, so that the check says the same of it wherever and however often it runs,
 * and of the next commit something else is tried.
 */
export function seedOf(commit: string): number {
  const digits = /^[0-9a-f]{8}/.exec(commit)?.[0];
  return digits === undefined ? WITHOUT_COMMIT : Number.parseInt(digits, 16) >>> 1; // without a sign, which looks like an option
}

/** What stands behind `--seed`. */
export function readSeed(given: string | undefined): Result<number | undefined, string> {
  if (given === undefined) return ok(undefined);
  const seed = /^-?\d{1,10}$/.test(given) ? Number(given) : Number.NaN;
  if ((seed | 0) === seed) return ok(seed);
  return err(`--seed is a whole number of 32 bits, as fast-check prints it, and not "${given}".`);
}
