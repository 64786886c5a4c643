import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type {
  FoundImport,
  FoundSymbol,
  GraphResolvedImport,
  KnownImport,
  SymbolKind,
} from '../../../graph.ts';
import type { FileRows, FileSpans, KnownFile } from './file-rows.ts';
import { prepareWrite } from './file-rows.ts';
import { rankOfSymbol, tokenOf } from './words.ts';

/** Rows that who resolves calls asks for. */
export interface CallSources {
  readonly files: Pick<FileRows, 'find' | 'byId' | 'beside'>;
  readonly symbols: Pick<SymbolRows, 'inFile' | 'byId'>;
  readonly imports: Pick<ImportRows, 'raw' | 'importers' | 'handedOn'>;
}

export interface RememberedRows extends CallSources {
  /** To be called before each question: forgets all where anybody has written meanwhile. */
  refresh(): void;
  /** And after each write of this connection's own, which it does not see by itself. */
  forget(): void;
  /** What is made once for as long as nothing is written. */
  keep<T>(key: string, make: () => T): T;
}

/** Some ten megabytes. What is asked in a row is about the same few files. */
const MAX_KEPT = 20_000;

/**
 * The same rows, each read once for as long as nothing is written: one answer is a dozen questions about the same
 * names, and to resolve a call asks for the same imports and symbols again and again. At 100,000 symbols that was three
 * quarters of the time.
 */
export function rememberRows(db: DatabaseSync, { files, symbols, imports }: CallSources): RememberedRows {
  const version = db.prepare('PRAGMA data_version');
  let seen = -1;
  let kept = new Map<string, unknown>();
  const keep = <T>(key: string, make: () => T): T => {
    if (kept.has(key)) return kept.get(key) as T;
    if (kept.size >= MAX_KEPT) kept = new Map();
    const made = make();
    kept.set(key, made);
    return made;
  };
  return {
    keep,
    refresh() {
      const now = Number(version.get()?.data_version);
      if (now !== seen) kept = new Map();
      seen = now;
    },
    forget() {
      kept = new Map();
    },
    files: {
      ...files,
      find: (graph, path) => keep<KnownFile | undefined>(`f ${graph} ${path}`, () => files.find(graph, path)),
      byId: (id) => keep<KnownFile | undefined>(`F ${id}`, () => files.byId(id)),
    },
    symbols: {
      inFile: (file, name) =>
        keep<readonly SymbolRow[]>(`s ${file.symbols.join()} ${name}`, () => symbols.inFile(file, name)),
      byId: (id) => keep<SymbolRow | undefined>(`S ${id}`, () => symbols.byId(id)),
    },
    imports: {
      ...imports,
      raw: (file, limit) => keep<readonly ImportRow[]>(`i ${file.id}`, () => imports.raw(file, limit)),
    },
  };
}

type SymbolRowsRow = Record<string, SQLOutputValue>;

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

export function toSymbol(row: SymbolRowsRow): FoundSymbol {
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

const toSymbolRow = (row: SymbolRowsRow): SymbolRow => ({
  symbol: toSymbol(row),
  file: Number(row.file),
  container: row.container === null ? null : Number(row.container),
});

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const sameInAnyCase = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

type StoredImport = Record<string, SQLOutputValue>;

/** An import whose names are still JSON: to look one up in a text takes a tenth of reading them all. */
export interface ImportRow {
  readonly path: string;
  readonly specifier: string;
  readonly names: string;
  readonly reexport: boolean;
  readonly target: string | undefined;
}

export interface ImportRows {
  of(file: KnownFile, limit: number): readonly FoundImport[];
  /** Imports that lead to a file, by path. */
  to(graph: number, path: string, limit: number): readonly FoundImport[];
  raw(file: KnownFile, limit: number): readonly ImportRow[];
  /** Ids of the files that import a file. */
  importers(graph: number, path: string, limit: number): readonly number[];
  /** Of them, those imports that hand on what they take. */
  handedOn(graph: number, path: string, limit: number): readonly ImportRow[];
  /** By id, from behind `after` on. */
  all(graph: number, after: number, limit: number): readonly KnownImport[];
  resolve(graph: number, resolved: readonly GraphResolvedImport[]): void;
}

export function createImportRows(db: DatabaseSync): ImportRows {
  const columns = 'i.specifier, i.line, i.names, i.reexport, i.target, f.path';
  const joined = `SELECT ${columns} FROM graph_imports i JOIN graph_files f ON f.id = i.file WHERE`;
  const of = db.prepare(`${joined} i.id >= ? AND i.id < ? ORDER BY i.id LIMIT ?`);
  const to = db.prepare(`${joined} i.graph = ? AND i.target = ? ORDER BY f.path, i.id LIMIT ?`);
  const importers = db.prepare(
    'SELECT DISTINCT file FROM graph_imports WHERE graph = ? AND target = ? LIMIT ?',
  );
  // A Python package hands on what it imports.
  const handedOn = db.prepare(
    `${joined} i.graph = ? AND i.target = ? AND (i.reexport = 1 OR f.path LIKE '%__init__.py') LIMIT ?`,
  );
  const all = db.prepare(
    `SELECT i.id, i.specifier, i.names, i.target, f.path FROM graph_imports i JOIN graph_files f ON f.id = i.file
     WHERE i.graph = ? AND i.id > ? ORDER BY i.id LIMIT ?`,
  );
  const resolve = prepareWrite(db, 'UPDATE graph_imports SET target = ? WHERE id = ? AND graph = ?');

  return {
    of: (file, limit) => of.all(...file.imports, limit).map(toImport),
    to: (graph, path, limit) => to.all(graph, path, limit).map(toImport),
    raw: (file, limit) => of.all(...file.imports, limit).map(toRow),
    importers: (graph, path, limit) => importers.all(graph, path, limit).map(({ file }) => Number(file)),
    handedOn: (graph, path, limit) => handedOn.all(graph, path, limit).map(toRow),
    all: (graph, after, limit) =>
      all.all(graph, after, limit).map(({ id, path, specifier, names, target }) => ({
        id: Number(id),
        path: String(path),
        specifier: String(specifier),
        names: JSON.parse(String(names)) as string[],
        ...(target === null ? {} : { target: String(target) }),
      })),
    resolve(graph, resolved) {
      for (const { id, target } of resolved) resolve.run(target ?? null, id, graph);
    },
  };
}

function toImport(row: StoredImport): FoundImport {
  return {
    path: String(row.path),
    specifier: String(row.specifier),
    line: Number(row.line),
    names: JSON.parse(String(row.names)) as string[],
    ...(row.reexport === 1 ? { reexport: true } : {}),
    ...(row.target === null ? {} : { target: String(row.target) }),
  };
}

const toRow = (row: StoredImport): ImportRow => ({
  path: String(row.path),
  specifier: String(row.specifier),
  names: String(row.names),
  reexport: row.reexport === 1,
  target: row.target === null ? undefined : String(row.target),
});

/** Those that take a name, or may: by taking all, or what is exported without a name. */
export function naming(rows: readonly ImportRow[], name: string): readonly ImportRow[] {
  const quoted = JSON.stringify(name);
  return rows.filter(
    ({ names }) => names.includes(quoted) || names.includes('"*"') || names.includes('"default"'),
  );
}

/** Whether an import takes a name, `*` for all. */
export const takes = ({ names }: ImportRow, name: string): boolean => names.includes(JSON.stringify(name));

export const namesOf = ({ names }: ImportRow): readonly string[] => JSON.parse(names) as string[];
