import { MAX_COST } from './limits.ts';
import { Stop } from './stop.ts';

const CHARS_PER_UNIT = 64;
/** Searching is text × needle in the worst case; a unit buys this many comparisons of characters. */
const COMPARISONS_PER_UNIT = 1_024;

/** What an evaluation has left to spend. Work is paid for before it is done, so nothing large is ever begun. */
export interface Budget {
  spend(units: number): void;
  /** Pays for making or reading `length` characters. */
  spendText(length: number): void;
  /** Pays for looking for `needle` characters in `text` characters. */
  spendSearch(text: number, needle: number): void;
}

export function createBudget(limit = MAX_COST): Budget {
  let left = limit;
  const spend = (units: number) => {
    left -= units;
    if (left < 0) throw tooCostly(limit);
  };
  return {
    spend,
    spendText: (length) => spend(1 + length / CHARS_PER_UNIT),
    spendSearch: (text, needle) => spend(1 + text / CHARS_PER_UNIT + (text * needle) / COMPARISONS_PER_UNIT),
  };
}

const tooCostly = (limit: number) =>
  new Stop(
    'too_costly',
    `The expression does more than ${limit} units of work.`,
    'Test fewer or smaller lists and texts, or nest fewer macros.',
  );
