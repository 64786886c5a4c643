import type { FoundSymbol, SymbolKind } from '../../../graph.ts';

const WORD = /[\p{L}\p{N}\p{M}_$]+/gu;
/** Where a word of an identifier ends: `tag|Parser`, `HTML|Parser`, `utf|8`, `8|bit`. */
const SEAM =
  /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})|[_$]+/u;
/** Scripts that put no space between words: each character counts as one. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu;
const NO_WORD = /[^\p{L}\p{N}]/gu;
const BEYOND_ASCII = /[^\0-\x7f]/;
const BEYOND_ASCII_EACH = /[^\0-\x7f]/gu;
/**
 * What is beyond ASCII is spelled out, all in the same length: SQLite takes other characters for letters than JavaScript
 * does, of an older Unicode, and what it cuts in two it refuses to look for.
 */
const spelled = (char: string): string => `q${String(char.codePointAt(0)).padStart(7, '0')}`;
const MAX_WORD_CHARS = 64;

/** A word of a text: `createTagParser` is `createtagparser` with the parts `create`, `tag` and `parser`. */
export interface WordsWord {
  readonly whole: string;
  /** Two or more, or none. */
  readonly parts: readonly string[];
}

/**
 * The words of any text, at most `limit`: of each the whole and its parts, of letters and digits only, in lower case and
 * without accents, as the index keeps them.
 */
export function wordsOf(text: string, limit: number): readonly WordsWord[] {
  return BEYOND_ASCII.test(text) ? unicodeWords(text, limit) : asciiWords(text, limit);
}

function unicodeWords(text: string, limit: number): readonly WordsWord[] {
  const words: WordsWord[] = [];
  for (const [found] of text.replace(UNSPACED, ' $& ').matchAll(WORD)) {
    if (words.length >= limit) break;
    const parts: string[] = [];
    for (const piece of found.slice(0, MAX_WORD_CHARS).split(SEAM)) {
      const part = piece
        .normalize('NFKD')
        .toLowerCase()
        .replace(NO_WORD, '')
        .replace(BEYOND_ASCII_EACH, spelled);
      if (part !== '') parts.push(part);
    }
    if (parts.length > 0) words.push(toWord(parts));
  }
  return words;
}

const OTHER = 0;
const JOINT = 1;
const DIGIT = 2;
const LOWER = 3;
const UPPER = 4;

function kindOf(code: number): number {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  return code === 95 || code === 36 ? JOINT : OTHER;
}

/** The same by hand: nearly all of code is ASCII, and this takes a sixth of the expressions' time. */
function asciiWords(text: string, limit: number): readonly WordsWord[] {
  const words: WordsWord[] = [];
  const lower = text.toLowerCase();
  let parts: string[] = [];
  let [word, part] = [0, 0];
  let before = OTHER;
  for (let at = 0; at <= text.length; at++) {
    const kind = at < text.length ? kindOf(text.charCodeAt(at)) : OTHER;
    if (kind === before && kind !== UPPER) continue;
    if (before === OTHER) {
      word = at;
      part = at;
    } else if (kind === OTHER) {
      addPart(parts, lower, part, Math.min(at, word + MAX_WORD_CHARS));
      if (parts.length > 0) words.push(toWord(parts));
      if (words.length >= limit) return words;
      parts = [];
    } else if (isSeam(before, kind, text, at)) {
      addPart(parts, lower, part, Math.min(at, word + MAX_WORD_CHARS));
      part = at;
    }
    before = kind;
  }
  return words;
}

/** Whether a new part begins at a place; `before` and `kind` are those of the characters around it. */
function isSeam(before: number, kind: number, text: string, at: number): boolean {
  if (before === UPPER && kind === UPPER) return kindOf(text.charCodeAt(at + 1)) === LOWER;
  return !(before === UPPER && kind === LOWER);
}

function addPart(parts: string[], text: string, from: number, to: number): void {
  if (to > from && kindOf(text.charCodeAt(from)) !== JOINT) parts.push(text.slice(from, to));
}

const toWord = (parts: readonly string[]): WordsWord => ({
  whole: parts.join(''),
  parts: parts.length > 1 ? parts : [],
});

/** Words of the languages themselves: they stand in every signature, and nobody looks for them there. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'any async await bool boolean class const def default else enum export extends false final fn for func function if ' +
    'impl implements import in int interface let mut new null number object override private promise protected pub ' +
    'public readonly return self static str string struct super this throws true type undefined unknown var void'
  ).split(' '),
);

/** What is put into the index for a name: its words by themselves, and their parts. */
export function indexedName(text: string, limit: number): readonly [whole: string, name: string] {
  let [wholes, names] = ['', ''];
  for (const { whole, parts } of wordsOf(text, limit)) {
    wholes += ` ${whole}`;
    if (parts.length === 0) names += ` ${whole}`;
    for (const part of parts) names += ` ${part}`;
  }
  return [wholes, names];
}

/** The same for what is said of it: each word once, and without those that say nothing. */
export function indexedText(text: string, limit: number, name: string): string {
  const said = new Set<string>();
  for (const { whole, parts } of wordsOf(text, limit)) {
    if (KEYWORDS.has(whole)) continue;
    said.add(whole);
    for (const part of parts) said.add(part);
  }
  for (const { whole, parts } of wordsOf(name, limit)) {
    said.delete(whole);
    for (const part of parts) said.delete(part);
  }
  return [...said].join(' ');
}

const NAME_WORDS = 12;

/** One token for a whole name, to find it by: the same for names that differ in case and signs only. */
export function tokenOf(name: string): string {
  let token = '';
  for (const { whole } of wordsOf(name, NAME_WORDS)) token += whole;
  if (token !== '') return `n${token.slice(0, MAX_WORD_CHARS)}`;
  for (const sign of name.slice(0, NAME_WORDS)) token += sign.charCodeAt(0).toString(16);
  return `x${token}`;
}

/** What people ask for most comes first where all else is equal. */
const KIND: Readonly<Record<SymbolKind, number>> = {
  class: 1,
  function: 1,
  interface: 0.97,
  type: 0.95,
  enum: 0.95,
  method: 0.9,
  module: 0.85,
  variable: 0.8,
  heading: 0.75,
  field: 0.65,
};
const EXPORTED = 1.2;
const IN_TEST = 0.6;

const TEST_PATH =
  /(^|\/)(tests?|__tests__|spec|testdata|fixtures?|mocks?|__mocks__|examples?)\/|[._-](test|spec)\.[^/]+$|(^|\/)test_[^/]+\.py$|_test\.go$|Tests?\.java$/i;

export const isTestPath = (path: string): boolean => TEST_PATH.test(path);

/** How likely a symbol is meant, whatever was asked: definitions that others use before those of tests. */
export function rankOfSymbol({ kind, exported, path }: FoundSymbol): number {
  return KIND[kind] * (exported ? EXPORTED : 1) * rankOfPath(path);
}

export const rankOfPath = (path: string): number => (isTestPath(path) ? IN_TEST : 1);
