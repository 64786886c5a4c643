import { compilePattern, type Pattern } from '../linear-regex.ts';
import { itemAt, itemsOf } from './access.ts';
import type { Budget } from './budget.ts';
import { checkedText } from './operators.ts';
import { Stop } from './stop.ts';
import { label, MadeList, type Value } from './value.ts';

/** Where none stands in a text, its characters are its UTF-16 units. */
const SURROGATE = /[\ud800-\udfff]/;

type TextFunction = (args: readonly Value[], budget: Budget) => Value;

/** A function of a text and a part to look for in it, paid for at the worst case of such a search. */
const search =
  (find: (text: string, part: string) => Value): TextFunction =>
  ([of = null, part = null], budget) => {
    const text = asText(of);
    const wanted = asText(part);
    budget.spendSearch(text.length, wanted.length);
    return find(text, wanted);
  };

export const contains = search((text, part) => text.includes(part));
export const startsWith = search((text, part) => text.startsWith(part));
export const endsWith = search((text, part) => text.endsWith(part));
export const indexOf = search((text, part) => characterAt(text, text.indexOf(part)));
export const lastIndexOf = search((text, part) => characterAt(text, text.lastIndexOf(part)));

/** Characters are code points everywhere, as `size()` counts them: an offset into UTF-16 units as one into those. */
function characterAt(text: string, offset: number): bigint {
  const before = text.slice(0, Math.max(offset, 0));
  return BigInt(SURROGATE.test(before) ? [...before].length : offset);
}

/** A function that reads a text from end to end. */
const pass =
  (change: (text: string) => string): TextFunction =>
  ([of = null], budget) => {
    const text = asText(of);
    budget.spendText(text.length * 2);
    return change(text);
  };

export const trim = pass((text) => text.trim());
export const lowerAscii = pass((text) => text.replace(/[A-Z]+/g, (run) => run.toLowerCase()));
export const upperAscii = pass((text) => text.replace(/[a-z]+/g, (run) => run.toUpperCase()));

export const substring: TextFunction = ([of = null, from = 0n, to], budget) => {
  const text = asText(of);
  budget.spendText(text.length);
  const characters = SURROGATE.test(text) ? charactersOf(text, budget) : text;
  const end = to === undefined ? BigInt(characters.length) : to;
  if (typeof from !== 'bigint' || typeof end !== 'bigint')
    throw new Stop('wrong_type', 'substring() takes ints.', 'Write text.substring(0, 3).');
  if (from < 0n || end < from || end > BigInt(characters.length)) throw outside(from, end, characters.length);
  const part = characters.slice(Number(from), Number(end));
  return typeof part === 'string' ? part : part.join('');
};

/** As `size()` counts them, and at its price. */
function charactersOf(text: string, budget: Budget): readonly string[] {
  budget.spend(text.length / COUNTED_PER_UNIT);
  return [...text];
}

const COUNTED_PER_UNIT = 8;

export const split: TextFunction = ([of = null, by = null], budget) => {
  const text = asText(of);
  const separator = asText(by);
  budget.spendSearch(text.length, separator.length);
  if (separator === '') {
    budget.spend(text.length);
    return new MadeList([...text]);
  }
  const parts: string[] = [];
  let from = 0;
  for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, from)) {
    budget.spend(1);
    parts.push(text.slice(from, at));
    from = at + separator.length;
  }
  parts.push(text.slice(from));
  return new MadeList(parts);
};

export const join: TextFunction = ([of = null, by = ''], budget) => {
  const items = itemsOf(of);
  if (items === undefined)
    throw new Stop('wrong_type', `join() was asked of ${label(of)}.`, 'It takes a list of strings.');
  const separator = asText(by);
  budget.spend(items.length);
  const parts = items.map((_, i) => asText(itemAt(of, items, i)));
  const length = parts.reduce((sum, part) => sum + part.length + separator.length, 0);
  return checkedText(length, budget, () => parts.join(separator));
};

/** Compiling a pattern takes up to 20 ms, a unit of work about 0.2 µs. */
const COMPILE_COST = 20_000;

/** `text.regex(pattern)` with a pattern that is known only now. */
export const regex: TextFunction = ([of = null, source = null], budget) => {
  const text = asText(of);
  const wanted = asText(source);
  budget.spend(COMPILE_COST);
  const pattern = compilePattern(wanted);
  if (pattern.ok) return searchWith(pattern.value, text, budget);
  throw new Stop('bad_pattern', pattern.error.message, pattern.error.hint);
};

/** `text.regex("…")`, whose pattern was compiled with the expression. */
export function searchWith(pattern: Pattern, of: Value, budget: Budget): boolean {
  const text = asText(of);
  if (text.length > pattern.maxLength) throw tooLong(text.length, pattern.maxLength);
  budget.spend(1 + (text.length * pattern.programSize) / STEPS_PER_UNIT);
  return pattern.test(text);
}

/** The longest search that a pattern allows takes two thirds of the budget. */
const STEPS_PER_UNIT = 16;

function asText(value: Value): string {
  if (typeof value === 'string') return value;
  throw new Stop('wrong_type', `A string was needed and ${label(value)} found.`, 'Use string(x).');
}

const outside = (from: bigint, to: bigint, length: number) =>
  new Stop(
    'out_of_range',
    `substring(${from}, ${to}) is outside a text of ${length} characters.`,
    'Test size() first.',
  );

const tooLong = (length: number, most: number) =>
  new Stop(
    'too_costly',
    `regex() was asked to search ${length} characters; with this pattern ${most} are allowed.`,
    'Search a part: text.substring(0, 1000).regex("…").',
  );
