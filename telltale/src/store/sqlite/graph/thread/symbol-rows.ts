import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { FoundSymbol, SymbolKind } from '../../../graph.ts';
import type { FileRows, FileSpans } from './file-rows.ts';
import { rankOfSymbol } from './rank.ts';
import { tokenOf } from './words.ts';

type Row = Record<string, SQLOutputValue>;

/** A symbol and what it stands in. */
export interface SymbolRow {
  readonly symbol: FoundSymbol;
  readonly file: number;
  readonly container: number | null;
}

export interface SymbolRows {
  /** `run`, `Session.run`; exactly, or, where there is none, in any case. */
  named(graph: number, name: string, limit: number): readonly FoundSymbol[];
  /** Those of a file with exactly that name. */
  inFile(file: FileSpans, name: string): readonly SymbolRow[];
  byId(id: number): SymbolRow | undefined;
  ofFile(graph: number, path: string, limit: number): readonly FoundSymbol[];
  /** All of a file, in order. */
  spanned(file: FileSpans): readonly SymbolRow[];
}

/** Of one name; those beyond are not ranked. */
const NAMESAKES = 2000;
/** Overloads, declarations that merge, branches that define the same. */
const NAMESAKES_IN_FILE = 100;
const QUALIFIER = /\.|::|#|->/;

export const SYMBOL_COLUMNS =
  's.id, s.file, s.name, s.kind, s.line, s.end_line, s.signature, s.exported, s.container, s.within, s.doc, f.path';

export function createSymbolRows(db: DatabaseSync, files: FileRows): SymbolRows {
  const select = `SELECT ${SYMBOL_COLUMNS} FROM graph_symbols s JOIN graph_files f ON f.id = s.file WHERE`;
  const called = db.prepare(
    `SELECT ${SYMBOL_COLUMNS} FROM graph_symbol_words w CROSS JOIN graph_symbols s ON s.id = w.rowid
     JOIN graph_files f ON f.id = s.file WHERE graph_symbol_words MATCH ? AND s.graph = ? LIMIT ${NAMESAKES}`,
  );
  const inFile = db.prepare(
    `${select} s.id >= ? AND s.id < ? AND s.name = ? ORDER BY s.id LIMIT ${NAMESAKES_IN_FILE}`,
  );
  const byId = db.prepare(`${select} s.id = ?`);
  const ofFile = db.prepare(`${select} s.id >= ? AND s.id < ? ORDER BY s.id LIMIT ?`);

  const best = (found: FoundSymbol[], limit: number) =>
    found
      .sort((a, b) => rankOfSymbol(b) - rankOfSymbol(a) || compare(a.path, b.path) || a.line - b.line)
      .slice(0, limit);

  return {
    named(graph, name, limit) {
      const find = (one: string) => called.all(`whole : "${tokenOf(one)}"`, graph).map(toSymbol);
      const whole = find(name);
      const exact = whole.filter((symbol) => symbol.name === name);
      if (exact.length > 0) return best(exact, limit);
      const parts = name.split(QUALIFIER).filter((part) => part !== '');
      const [last = '', within = ''] = [parts.at(-1), parts.at(-2)];
      const members = within === '' ? [] : find(last);
      const meant = members.filter((symbol) => symbol.name === last && symbol.within === within);
      if (meant.length > 0) return best(meant, limit);
      const anyCase = whole.filter((symbol) => sameInAnyCase(symbol.name, name));
      if (anyCase.length > 0) return best(anyCase, limit);
      const isLike = (symbol: FoundSymbol) =>
        sameInAnyCase(symbol.name, last) && sameInAnyCase(symbol.within ?? '', within);
      return best(members.filter(isLike), limit);
    },
    inFile: ({ symbols: [from, to] }, name) => inFile.all(from, to, name).map(toSymbolRow),
    byId(id) {
      const row = byId.get(id);
      return row === undefined ? undefined : toSymbolRow(row);
    },
    spanned: ({ symbols: [from, to] }) => ofFile.all(from, to, to - from).map(toSymbolRow),
    ofFile(graph, path, limit) {
      const file = files.find(graph, path);
      return file === undefined ? [] : ofFile.all(...file.symbols, limit).map(toSymbol);
    },
  };
}

export function toSymbol(row: Row): FoundSymbol {
  return {
    id: Number(row.id),
    path: String(row.path),
    name: String(row.name),
    kind: row.kind as SymbolKind,
    line: Number(row.line),
    endLine: Number(row.end_line),
    signature: String(row.signature),
    exported: row.exported === 1,
    ...(row.within === null ? {} : { within: String(row.within) }),
    ...(row.doc === null ? {} : { doc: String(row.doc) }),
  };
}

const toSymbolRow = (row: Row): SymbolRow => ({
  symbol: toSymbol(row),
  file: Number(row.file),
  container: row.container === null ? null : Number(row.container),
});

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const sameInAnyCase = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
