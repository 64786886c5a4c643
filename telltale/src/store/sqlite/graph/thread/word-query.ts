import { type Word, wordsOf } from './words.ts';

/** Words of a query that count; more are not looked for. */
const MAX_WORDS = 12;
/** Words of a query that are looked at to find those. */
const MAX_READ = 2000;
/** A prefix of one letter would be half of the index. */
const PREFIX_CHARS = 2;
const STEM_CHARS = 5;
const ENDINGS = /(?:ations?|ings?|ers?|ors?|ed|es|s)$/;
const INFLECTIONS = ['', 'e', 's', 'es', 'ed', 'er', 'ers', 'or', 'ing', 'ion', 'ation'];
/** Words of questions, not of code. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about all an and any are as at be been but by can could did do does for from had has have how i if in into is it ' +
    'its me my no not of on or our please should so some than that the their them then there these they this those to ' +
    'us was we what when where which who whom whose why will with would you your defined definition called calls uses ' +
    'used function class method caller callers callee callees'
  ).split(' '),
);

/** The words of a query that say something, each once; all of them where none does. */
export function queryWords(query: string): readonly Word[] {
  const all = new Map<string, Word>();
  for (const word of wordsOf(query, MAX_READ)) all.set(word.whole, word);
  const telling = [...all.values()].filter(({ whole }) => !STOP_WORDS.has(whole));
  // Of a long text the words that look like code, then the longer ones: short ones stand everywhere.
  if (telling.length > MAX_WORDS)
    telling.sort(
      (a, b) => Math.sign(b.parts.length) - Math.sign(a.parts.length) || b.whole.length - a.whole.length,
    );
  return (telling.length > 0 ? telling : [...all.values()]).slice(0, MAX_WORDS);
}

const exact = (token: string) => `"${token}"`;
const prefix = (token: string) => (token.length < PREFIX_CHARS ? exact(token) : `"${token}"*`);

/** As an expression of FTS5: the word as it is written, or all of its parts. */
export function wordExactly({ whole, parts }: Word): string {
  return parts.length === 0 ? exact(whole) : `(${exact(whole)} OR (${parts.map(exact).join(' AND ')}))`;
}

/** Names that begin so: `createTag`. */
export const beginsSo = ({ whole }: Word): string => prefix(whole);

/** Words that begin so, or have the same stem: `parsing` finds `parser`. */
export function wordLoosely({ whole, parts }: Word): string {
  const stem = stemOf(whole);
  const ways = [prefix(whole)];
  // Not all that begins with the stem: gathering that takes long where the stem is a common word.
  if (stem !== whole) for (const ending of INFLECTIONS) ways.push(exact(stem + ending));
  if (parts.length > 0) ways.push(`(${parts.map(prefix).join(' AND ')})`);
  return ways.length === 1 ? ways.join('') : `(${ways.join(' OR ')})`;
}

export function stemOf(word: string): string {
  const stem = word.replace(ENDINGS, '');
  return stem.length >= STEM_CHARS - 1 && word.length > STEM_CHARS ? stem : word;
}
