import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { FoundSymbol, SymbolKind } from '../../../graph.ts';
import type { FileRows } from './file-rows.ts';
import { rankOfSymbol } from './rank.ts';

type Row = Record<string, SQLOutputValue>;

/** A symbol and what it stands in. */
export interface SymbolRow {
  readonly symbol: FoundSymbol;
  readonly file: number;
  readonly container: number | null;
}

export interface SymbolRows {
  /** `run`, `Session.run`; exactly, or, where there is none, in any case (of ASCII letters). */
  named(graph: number, name: string, limit: number): readonly FoundSymbol[];
  /** Those of a file with exactly that name. */
  inFile(graph: number, file: number, name: string): readonly SymbolRow[];
  byId(id: number): SymbolRow | undefined;
  ofFile(graph: number, path: string, limit: number): readonly FoundSymbol[];
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
  const sameName = 's.graph = ?1 AND s.name = ?2 COLLATE NOCASE';
  const exactly = db.prepare(`${select} ${sameName} AND s.name = ?2 COLLATE BINARY LIMIT ${NAMESAKES}`);
  const anyCase = db.prepare(`${select} ${sameName} LIMIT ${NAMESAKES}`);
  const withinExactly = db.prepare(
    `${select} ${sameName} AND s.name = ?2 COLLATE BINARY AND s.within = ?3 LIMIT ${NAMESAKES}`,
  );
  const withinAnyCase = db.prepare(
    `${select} ${sameName} AND s.within = ?3 COLLATE NOCASE LIMIT ${NAMESAKES}`,
  );
  const inFile = db.prepare(
    `${select} ${sameName} AND s.file = ?3 AND s.name = ?2 COLLATE BINARY ORDER BY s.id LIMIT ${NAMESAKES_IN_FILE}`,
  );
  const byId = db.prepare(`${select} s.id = ?`);
  const ofFile = db.prepare(`${select} s.id >= ? AND s.id < ? ORDER BY s.id LIMIT ?`);

  const best = (rows: readonly Row[], limit: number) =>
    rows
      .map(toSymbol)
      .sort((a, b) => rankOfSymbol(b) - rankOfSymbol(a) || compare(a.path, b.path) || a.line - b.line)
      .slice(0, limit);

  return {
    named(graph, name, limit) {
      const parts = name.split(QUALIFIER).filter((part) => part !== '');
      const [last = '', within] = [parts.at(-1), parts.at(-2)];
      const tries = [
        () => exactly.all(graph, name),
        () => (within === undefined ? [] : withinExactly.all(graph, last, within)),
        () => anyCase.all(graph, name),
        () => (within === undefined ? [] : withinAnyCase.all(graph, last, within)),
      ];
      for (const attempt of tries) {
        const rows = attempt();
        if (rows.length > 0) return best(rows, limit);
      }
      return [];
    },
    inFile: (graph, file, name) => inFile.all(graph, name, file).map(toSymbolRow),
    byId(id) {
      const row = byId.get(id);
      return row === undefined ? undefined : toSymbolRow(row);
    },
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
