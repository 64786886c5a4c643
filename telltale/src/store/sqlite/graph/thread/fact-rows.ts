import { createHash } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { Fact, FactSubject, LearnedRow, NewFact } from '../../../graph.ts';
import { factsFull, factUnknown, MAX_FACTS } from '../../../graph-limits.ts';
import type { FileRows } from './file-rows.ts';
import { prepareWrite } from './file-rows.ts';
import type { SymbolRows } from './symbol-rows.ts';
import { indexedName, indexedText } from './words.ts';

type FactRowsRow = Record<string, SQLOutputValue>;

export interface FactRows {
  /** Within a transaction. Throws before anything of that fact is written. */
  learn(graph: number, facts: readonly NewFact[]): readonly string[];
  about(graph: number, about: FactSubject, limit: number): readonly Fact[];
  byKeys(graph: number, keys: readonly string[]): readonly Fact[];
  byId(id: number): Fact | undefined;
  /** All of them, those behind a number. */
  all(graph: number, after: number, limit: number): readonly LearnedRow[];
  /** Facts that hold, and how many of them are stale. */
  count(graph: number): { readonly facts: number; readonly stale: number };
  /** Takes some facts of a graph out; whether there may be more. */
  sweep(graph: number, most: number): boolean;
}

const FACT_WORDS = 400;
/** Files by whose change a fact about a symbol goes stale: a name that more define says nothing of one of them. */
const FILES_A_SYMBOL = 16;

export function createFactRows(db: DatabaseSync, files: FileRows, symbols: SymbolRows): FactRows {
  const columns = 'f.id, f.graph, f.key, f.kind, f.text, f.about, f.session, f.at_commit, f.at, f.supersedes';
  const byKey = db.prepare(`SELECT ${columns} FROM graph_facts f WHERE f.graph = ? AND f.key = ?`);
  const byId = db.prepare(`SELECT ${columns} FROM graph_facts f WHERE f.id = ?`);
  const countHeld = 'SELECT count(*) AS n FROM graph_facts f WHERE f.graph = ? AND f.superseded = 0';
  const held = db.prepare(countHeld);
  const put = prepareWrite(
    db,
    `INSERT INTO graph_facts (graph, key, kind, text, about, session, at_commit, at, supersedes, superseded)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
     ON CONFLICT (graph, key) DO UPDATE SET session = excluded.session, at_commit = excluded.at_commit,
     at = excluded.at, supersedes = excluded.supersedes, superseded = 0`,
  );
  const supersede = prepareWrite(db, 'UPDATE graph_facts SET superseded = 1 WHERE id = ?');
  const addWords = prepareWrite(
    db,
    'INSERT INTO graph_fact_words (rowid, whole, name, text) VALUES (?, ?, ?, ?)',
  );
  const removeWords = prepareWrite(db, 'DELETE FROM graph_fact_words WHERE rowid = ?');
  const addSubject = prepareWrite(
    db,
    'INSERT INTO graph_fact_subjects (fact, graph, path, symbol) VALUES (?, ?, ?, ?)',
  );
  const removeSubjects = prepareWrite(db, 'DELETE FROM graph_fact_subjects WHERE fact = ?');
  const addFile = prepareWrite(
    db,
    'INSERT OR IGNORE INTO graph_fact_files (fact, path, hash) VALUES (?, ?, ?)',
  );
  const removeFiles = prepareWrite(db, 'DELETE FROM graph_fact_files WHERE fact = ?');
  const remove = prepareWrite(db, 'DELETE FROM graph_facts WHERE id = ?');
  const behind = db.prepare(
    `SELECT ${columns}, f.superseded FROM graph_facts f WHERE f.graph = ? AND f.id > ? ORDER BY f.id LIMIT ?`,
  );
  const filesThen = db.prepare('SELECT path, hash FROM graph_fact_files WHERE fact = ? ORDER BY path');
  const some = db.prepare('SELECT id FROM graph_facts WHERE graph = ? LIMIT ?');
  const changed = `FROM graph_fact_files a LEFT JOIN graph_files k ON k.graph = ? AND k.path = a.path
     WHERE a.fact = f.id AND k.hash IS NOT a.hash`;
  const stale = db.prepare(
    `SELECT a.path FROM graph_fact_files a LEFT JOIN graph_files k ON k.graph = ? AND k.path = a.path
     WHERE a.fact = ? AND k.hash IS NOT a.hash ORDER BY a.path`,
  );
  const countStale = db.prepare(`${countHeld} AND EXISTS (SELECT 1 ${changed})`);
  const subject = (where: string) =>
    db.prepare(
      `SELECT DISTINCT ${columns} FROM graph_fact_subjects s CROSS JOIN graph_facts f ON f.id = s.fact
       WHERE s.graph = ? AND ${where} AND f.superseded = 0 ORDER BY f.at DESC, f.id DESC LIMIT ?`,
    );
  const byPath = subject('s.path = ?');
  const bySymbol = subject('s.symbol = ?');
  const byBoth = subject('s.path = ? AND s.symbol = ?');

  const toFact = (row: FactRowsRow): Fact => {
    const supersedes = JSON.parse(String(row.supersedes)) as string[];
    return {
      id: String(row.key),
      kind: row.kind as Fact['kind'],
      text: String(row.text),
      about: JSON.parse(String(row.about)) as FactSubject[],
      ...(row.session === null ? {} : { session: String(row.session) }),
      ...(row.at_commit === null ? {} : { commit: String(row.at_commit) }),
      atMs: Number(row.at),
      ...(supersedes.length === 0 ? {} : { supersedes }),
      stale: stale.all(Number(row.graph), Number(row.id)).map(({ path }) => String(path)),
    };
  };

  const filesOf = (graph: number, { path, symbol }: FactSubject): readonly string[] => {
    if (path !== undefined) return [path];
    const found = new Set(symbols.named(graph, symbol ?? '', FILES_A_SYMBOL * 2).map((one) => one.path));
    return [...found].slice(0, FILES_A_SYMBOL);
  };

  const takeOut = (id: number) => {
    removeWords.run(id);
    removeSubjects.run(id);
    removeFiles.run(id);
  };

  const learnOne = (graph: number, fact: NewFact): string => {
    const { kind, text, session, commit, atMs, kept } = fact;
    const about = fact.about.map(({ path, symbol }) => ({
      ...(path === undefined ? {} : { path }),
      ...(symbol === undefined ? {} : { symbol }),
    }));
    const key = keyOf(kind, text, about);
    const before = byKey.get(graph, key);
    const given = (fact.supersedes ?? []).filter((one) => one !== key);
    // One that comes from elsewhere may come before those that it supersedes, and each says itself whether it holds.
    const superseded = (kept === undefined ? given : []).map((one) => {
      const row = byKey.get(graph, one);
      if (row === undefined) throw factUnknown(one);
      return Number(row.id);
    });
    if (before === undefined && Number(held.get(graph)?.n) >= MAX_FACTS) throw factsFull(MAX_FACTS);
    const supersedes = [
      ...new Set([...(before === undefined ? [] : (toFact(before).supersedes ?? [])), ...given]),
    ];
    const said = JSON.stringify(about);
    put.run(graph, key, kind, text, said, session ?? null, commit ?? null, atMs, JSON.stringify(supersedes));
    const id = Number(byKey.get(graph, key)?.id);
    takeOut(id);
    addWords.run(id, ...indexedName(text, FACT_WORDS), indexedText(subjectsText(about), FACT_WORDS, ''));
    for (const one of about) addSubject.run(id, graph, one.path ?? null, one.symbol ?? null);
    const contents = new Map(fact.contents?.map(({ path, hash }) => [path, hash]));
    if (kept !== undefined) {
      for (const { path, hash } of kept.files) addFile.run(id, path, hash);
      if (!kept.holds) superseded.push(id);
    } else
      for (const one of about)
        for (const path of filesOf(graph, one))
          addFile.run(id, path, contents.get(path) ?? files.hashOf(graph, path));
    for (const one of superseded) {
      supersede.run(one);
      removeWords.run(one);
    }
    return key;
  };

  return {
    learn: (graph, facts) => facts.map((fact) => learnOne(graph, fact)),
    about(graph, { path, symbol }, limit) {
      if (path === undefined && symbol === undefined) return [];
      if (symbol === undefined) return byPath.all(graph, path ?? '', limit).map(toFact);
      if (path === undefined) return bySymbol.all(graph, symbol, limit).map(toFact);
      return byBoth.all(graph, path, symbol, limit).map(toFact);
    },
    byKeys: (graph, keys) =>
      keys.flatMap((key) => {
        const row = byKey.get(graph, key);
        return row === undefined ? [] : [toFact(row)];
      }),
    byId(id) {
      const row = byId.get(id);
      return row === undefined ? undefined : toFact(row);
    },
    all: (graph, after, limit) =>
      behind.all(graph, after, limit).map((row) => {
        const { stale: _, id: _id, ...fact } = toFact(row);
        const then = filesThen.all(Number(row.id)).map(({ path, hash }) => ({
          path: String(path),
          hash: hash === null ? null : String(hash),
        }));
        return { ...fact, n: Number(row.id), kept: { files: then, holds: row.superseded === 0 } };
      }),
    count: (graph) => ({ facts: Number(held.get(graph)?.n), stale: Number(countStale.get(graph, graph)?.n) }),
    sweep(graph, most) {
      const ids = some.all(graph, most).map(({ id }) => Number(id));
      for (const id of ids) {
        takeOut(id);
        remove.run(id);
      }
      return ids.length === most;
    },
  };
}

/** What a fact is about, as words. */
export const subjectsText = (about: readonly FactSubject[]): string =>
  about.map(({ path = '', symbol = '' }) => `${path} ${symbol}`).join(' ');

const KEY_CHARS = 16;

/** The same of the same subjects, in whatever order, has the same id. */
function keyOf(kind: string, text: string, about: readonly FactSubject[]): string {
  const subjects = about.map(({ path, symbol }) => JSON.stringify([path ?? null, symbol ?? null])).sort();
  const hash = createHash('sha256').update(JSON.stringify([kind, text.trim(), subjects]));
  return `fact_${hash.digest('hex').slice(0, KEY_CHARS)}`;
}
