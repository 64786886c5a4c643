import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { FactSubject, Found, FoundKind } from '../../../graph.ts';
import { subjectsText } from './fact-rows.ts';
import { SYMBOL_COLUMNS, toSymbol } from './symbol-rows.ts';
import { rankOfPath, rankOfSymbol, type WordsWord, wordsOf } from './words.ts';

type SearchWordsRow = Record<string, SQLOutputValue>;

/** Candidates of one attempt, and of all, that are ranked. To rank a hundred takes a millisecond. */
const CANDIDATES = 60;
const ALL_CANDIDATES = 120;
/** In how many places a word is counted, at most: what stands in more is common. */
const COUNTED = 500;
const FILE_FACTOR = 0.75;
const FACT_FACTOR = 0.9;

/** Facts as they are found by a row of their own table. */
export type FactById = (id: number) => (Found & { readonly kind: 'fact' })['fact'] | undefined;

interface SearchWordsCandidate extends Worded {
  readonly id: number;
  readonly rank: number;
  readonly found: (score: number) => Found | undefined;
}

/** Where words of one kind of thing are looked up. */
interface Shelf {
  find(expression: string, graph: number): readonly SearchWordsCandidate[];
  count(expression: string): number;
}

/** Finds by words: first what has all of them in its name, then all of them anywhere, then some of them. */
export function createSearchWords(db: DatabaseSync, factById: FactById) {
  const shelves: Readonly<Record<FoundKind, Shelf>> = {
    symbol: createShelf(
      db,
      'graph_symbol_words',
      `SELECT ${SYMBOL_COLUMNS} FROM graph_symbol_words w CROSS JOIN graph_symbols s ON s.id = w.rowid
       JOIN graph_files f ON f.id = s.file WHERE graph_symbol_words MATCH ? AND s.graph = ? LIMIT ?`,
      (row) => {
        const symbol = toSymbol(row);
        const text = `${symbol.within ?? ''} ${symbol.signature} ${symbol.doc ?? ''}`;
        const found = (score: number): Found => ({ kind: 'symbol', symbol, score });
        return { id: symbol.id, name: symbol.name, text, rank: rankOfSymbol(symbol), found };
      },
    ),
    file: createShelf(
      db,
      'graph_file_words',
      `SELECT f.id, f.path FROM graph_file_words w CROSS JOIN graph_files f ON f.id = w.rowid
       WHERE graph_file_words MATCH ? AND f.graph = ? LIMIT ?`,
      (row) => {
        const path = String(row.path);
        const slash = path.lastIndexOf('/');
        const found = (score: number): Found => ({ kind: 'file', path, score });
        const rank = FILE_FACTOR * rankOfPath(path);
        return {
          id: Number(row.id),
          name: path.slice(slash + 1),
          text: path.slice(0, slash + 1),
          rank,
          found,
        };
      },
    ),
    fact: createShelf(
      db,
      'graph_fact_words',
      `SELECT f.id, f.text, f.about FROM graph_fact_words w CROSS JOIN graph_facts f ON f.id = w.rowid
       WHERE graph_fact_words MATCH ? AND f.graph = ? AND f.superseded = 0 LIMIT ?`,
      (row) => {
        const id = Number(row.id);
        const found = (score: number): Found | undefined => {
          const fact = factById(id);
          return fact === undefined ? undefined : { kind: 'fact', fact, score };
        };
        const text = subjectsText(JSON.parse(String(row.about)) as FactSubject[]);
        return { id, name: String(row.text), text, rank: FACT_FACTOR, found };
      },
    ),
  };

  return (
    graph: number,
    query: string,
    {
      limit,
      kinds = ['symbol', 'file', 'fact'],
    }: { readonly limit: number; readonly kinds?: readonly FoundKind[] },
  ): readonly Found[] => {
    const words = queryWords(query);
    if (words.length === 0 || limit === 0) return [];
    const scored: { readonly candidate: SearchWordsCandidate; readonly score: number }[] = [];
    for (const kind of new Set(kinds)) {
      const shelf = shelves[kind];
      const weighed = words.map((word): WeighedWord => {
        const count = shelf.count(wordExactly(word));
        return { word, count, weight: Math.log(1 + (4 * COUNTED) / (1 + count)) };
      });
      for (const candidate of candidatesOf(shelf, graph, weighed, limit)) {
        const score = scoreOf(weighed, candidate) * candidate.rank;
        if (score > 0) scored.push({ candidate, score });
      }
    }
    scored.sort((a, b) => b.score - a.score || a.candidate.id - b.candidate.id);
    const found: Found[] = [];
    for (const { candidate, score } of scored) {
      const one = found.length < limit ? candidate.found(score) : undefined;
      if (one !== undefined) found.push(one);
    }
    return found;
  };
}

/** A word that is common enough is looked for as it is: to gather all that begin with it takes many times as long. */
const ways = ({ word, count }: WeighedWord): string =>
  count >= COUNTED ? wordExactly(word) : wordLoosely(word);

function candidatesOf(
  shelf: Shelf,
  graph: number,
  words: readonly WeighedWord[],
  enough: number,
): Iterable<SearchWordsCandidate> {
  const found = new Map<number, SearchWordsCandidate>();
  const look = (expression: string) => {
    for (const one of shelf.find(expression, graph)) found.set(one.id, one);
  };
  look(`{whole name} : (${words.map(({ word }) => wordExactly(word)).join(' AND ')})`);
  // Of several words a name begins with one at the most, and to gather all that begin with each takes the longest.
  const [only] = words;
  if (found.size < enough && only !== undefined && words.length === 1) look(`whole : ${beginsSo(only.word)}`);
  if (found.size < enough) look(words.map(ways).join(' AND '));
  if (found.size >= enough || words.length === 1) return found.values();
  // The rarest first, since what is common fills the candidates at once.
  for (const one of [...words].sort((a, b) => a.count - b.count)) {
    if (found.size >= ALL_CANDIDATES) break;
    look(one.count >= enough ? `{whole name} : ${wordExactly(one.word)}` : ways(one));
  }
  return found.values();
}

function createShelf(
  db: DatabaseSync,
  table: string,
  select: string,
  read: (row: SearchWordsRow) => SearchWordsCandidate,
): Shelf {
  const find = db.prepare(select);
  const count = db.prepare(
    `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} WHERE ${table} MATCH ? LIMIT ${COUNTED})`,
  );
  return {
    find: (expression, graph) => find.all(expression, graph, CANDIDATES).map(read),
    count: (expression) => Number(count.get(expression)?.n),
  };
}

/** A word of a query, and how much it says: the rarer, the more. */
export interface WeighedWord {
  readonly word: WordsWord;
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
function scoreOf(words: readonly WeighedWord[], { name, text }: Worded): number {
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

interface SearchWordsTokens {
  readonly wholes: ReadonlySet<string>;
  readonly parts: ReadonlySet<string>;
  readonly all: ReadonlySet<string>;
}

function tokensOf(text: string): SearchWordsTokens {
  const [wholes, parts] = [new Set<string>(), new Set<string>()];
  for (const { whole, parts: own } of wordsOf(text, MAX_WORDS)) {
    wholes.add(whole);
    if (own.length === 0) parts.add(whole);
    for (const part of own) parts.add(part);
  }
  return { wholes, parts, all: new Set([...wholes, ...parts]) };
}

function levelInName({ whole, parts }: WordsWord, name: SearchWordsTokens, covered: Set<string>): number {
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

function levelInText({ whole, parts }: WordsWord, text: ReadonlySet<string>): number {
  if (text.has(whole) || (parts.length > 0 && parts.every((part) => text.has(part)))) return IN_TEXT;
  const stem = stemOf(whole);
  const begins = (part: string) => {
    for (const token of text) if (token.startsWith(part)) return true;
    return false;
  };
  return begins(stem) || (parts.length > 0 && parts.every(begins)) ? BEGINS_IN_TEXT : 0;
}

/** Words of a query that count; more are not looked for. */
const MAX_QUERY_WORDS = 12;
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
function queryWords(query: string): readonly WordsWord[] {
  const all = new Map<string, WordsWord>();
  for (const word of wordsOf(query, MAX_READ)) all.set(word.whole, word);
  const telling = [...all.values()].filter(({ whole }) => !STOP_WORDS.has(whole));
  // Of a long text the words that look like code, then the longer ones: short ones stand everywhere.
  if (telling.length > MAX_QUERY_WORDS)
    telling.sort(
      (a, b) => Math.sign(b.parts.length) - Math.sign(a.parts.length) || b.whole.length - a.whole.length,
    );
  return (telling.length > 0 ? telling : [...all.values()]).slice(0, MAX_QUERY_WORDS);
}

const exact = (token: string) => `"${token}"`;
const prefix = (token: string) => (token.length < PREFIX_CHARS ? exact(token) : `"${token}"*`);

/** As an expression of FTS5: the word as it is written, or all of its parts. */
function wordExactly({ whole, parts }: WordsWord): string {
  return parts.length === 0 ? exact(whole) : `(${exact(whole)} OR (${parts.map(exact).join(' AND ')}))`;
}

/** Names that begin so: `createTag`. */
const beginsSo = ({ whole }: WordsWord): string => prefix(whole);

/** Words that begin so, or have the same stem: `parsing` finds `parser`. */
function wordLoosely({ whole, parts }: WordsWord): string {
  const stem = stemOf(whole);
  const ways = [prefix(whole)];
  // Not all that begins with the stem: gathering that takes long where the stem is a common word.
  if (stem !== whole) for (const ending of INFLECTIONS) ways.push(exact(stem + ending));
  if (parts.length > 0) ways.push(`(${parts.map(prefix).join(' AND ')})`);
  return ways.length === 1 ? ways.join('') : `(${ways.join(' OR ')})`;
}

function stemOf(word: string): string {
  const stem = word.replace(ENDINGS, '');
  return stem.length >= STEM_CHARS - 1 && word.length > STEM_CHARS ? stem : word;
}
