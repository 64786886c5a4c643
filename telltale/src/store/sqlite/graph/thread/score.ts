import { stemOf } from './word-query.ts';
import { type Word, wordsOf } from './words.ts';

/** A word of a query, and how much it says: the rarer, the more. */
export interface WeighedWord {
  readonly word: Word;
  readonly weight: number;
  /** In how many places it stands, counted up to a limit. */
  readonly count: number;
}

/** What a candidate is called, and what else is said of it. */
export interface Worded {
  readonly name: string;
  readonly text: string;
}

const WHOLE_NAME = 4;
const IN_NAME = 3;
const BEGINS_IN_NAME = 2;
const STEM_IN_NAME = 1.6;
const PARTS_BEGIN_IN_NAME = 1.4;
const IN_TEXT = 0.8;
const BEGINS_IN_TEXT = 0.5;
/** How much of a score a name keeps that has many words besides. */
const KEPT = 0.6;
const MAX_WORDS = 60;

/** How well words match: 0 where none does, at most the sum of the weights times `WHOLE_NAME`, then divided by that sum. */
export function scoreOf(words: readonly WeighedWord[], { name, text }: Worded): number {
  const inName = tokensOf(name);
  let inText: ReadonlySet<string> | undefined;
  const covered = new Set<string>();
  let [sum, weights] = [0, 0];
  for (const { word, weight } of words) {
    weights += weight;
    const byName = levelInName(word, inName, covered);
    if (byName > 0) {
      sum += weight * byName;
      continue;
    }
    inText ??= tokensOf(text).all;
    sum += weight * levelInText(word, inText);
  }
  const coverage = inName.parts.size === 0 ? 0 : covered.size / inName.parts.size;
  return weights === 0 ? 0 : (sum / weights) * (KEPT + (1 - KEPT) * coverage);
}

interface Tokens {
  readonly wholes: ReadonlySet<string>;
  readonly parts: ReadonlySet<string>;
  readonly all: ReadonlySet<string>;
}

function tokensOf(text: string): Tokens {
  const [wholes, parts] = [new Set<string>(), new Set<string>()];
  for (const { whole, parts: own } of wordsOf(text, MAX_WORDS)) {
    wholes.add(whole);
    if (own.length === 0) parts.add(whole);
    for (const part of own) parts.add(part);
  }
  return { wholes, parts, all: new Set([...wholes, ...parts]) };
}

function levelInName({ whole, parts }: Word, name: Tokens, covered: Set<string>): number {
  const cover = (test: (part: string) => boolean) => {
    for (const part of name.parts) if (test(part)) covered.add(part);
  };
  if (name.wholes.size === 1 && name.wholes.has(whole)) {
    cover(() => true);
    return WHOLE_NAME;
  }
  if (name.all.has(whole) || (parts.length > 0 && parts.every((part) => name.parts.has(part)))) {
    cover((part) => part === whole || parts.includes(part) || whole.includes(part));
    return IN_NAME;
  }
  for (const token of name.all)
    if (token.startsWith(whole)) {
      cover((part) => part.startsWith(whole) || parts.includes(part) || whole.startsWith(part));
      return BEGINS_IN_NAME;
    }
  const stem = stemOf(whole);
  for (const token of name.parts)
    if (stem !== whole && token.startsWith(stem)) {
      covered.add(token);
      return STEM_IN_NAME;
    }
  const begins = (part: string) => [...name.parts].find((token) => token.startsWith(part));
  const begun = parts.map(begins);
  if (parts.length === 0 || begun.includes(undefined)) return 0;
  for (const token of begun) covered.add(token ?? '');
  return PARTS_BEGIN_IN_NAME;
}

function levelInText({ whole, parts }: Word, text: ReadonlySet<string>): number {
  if (text.has(whole) || (parts.length > 0 && parts.every((part) => text.has(part)))) return IN_TEXT;
  const stem = stemOf(whole);
  const begins = (part: string) => {
    for (const token of text) if (token.startsWith(part)) return true;
    return false;
  };
  return begins(stem) || (parts.length > 0 && parts.every(begins)) ? BEGINS_IN_TEXT : 0;
}
