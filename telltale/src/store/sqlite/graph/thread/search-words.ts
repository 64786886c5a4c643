import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { FactSubject, Found, FoundKind } from '../../../graph.ts';
import { subjectsText } from './fact-rows.ts';
import { rankOfPath, rankOfSymbol } from './rank.ts';
import { scoreOf, type WeighedWord, type Worded } from './score.ts';
import { SYMBOL_COLUMNS, toSymbol } from './symbol-rows.ts';
import { beginsSo, queryWords, wordExactly, wordLoosely } from './word-query.ts';

type Row = Record<string, SQLOutputValue>;

/** Candidates of one attempt, and of all, that are ranked. To rank a hundred takes a millisecond. */
const CANDIDATES = 60;
const ALL_CANDIDATES = 120;
/** In how many places a word is counted, at most: what stands in more is common. */
const COUNTED = 500;
const FILE_FACTOR = 0.75;
const FACT_FACTOR = 0.9;

/** Facts as they are found by a row of their own table. */
export type FactById = (id: number) => (Found & { readonly kind: 'fact' })['fact'] | undefined;

interface Candidate extends Worded {
  readonly id: number;
  readonly rank: number;
  readonly found: (score: number) => Found | undefined;
}

/** Where words of one kind of thing are looked up. */
interface Shelf {
  find(expression: string, graph: number): readonly Candidate[];
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
    const scored: { readonly candidate: Candidate; readonly score: number }[] = [];
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
): Iterable<Candidate> {
  const found = new Map<number, Candidate>();
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

function createShelf(db: DatabaseSync, table: string, select: string, read: (row: Row) => Candidate): Shelf {
  const find = db.prepare(select);
  const count = db.prepare(
    `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} WHERE ${table} MATCH ? LIMIT ${COUNTED})`,
  );
  return {
    find: (expression, graph) => find.all(expression, graph, CANDIDATES).map(read),
    count: (expression) => Number(count.get(expression)?.n),
  };
}
