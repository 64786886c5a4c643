import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { FoundImport, KnownImport, ResolvedImport } from '../../../graph.ts';
import type { KnownFile } from './file-rows.ts';
import { prepareWrite } from './prepare-write.ts';

type Row = Record<string, SQLOutputValue>;

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
  resolve(graph: number, resolved: readonly ResolvedImport[]): void;
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

function toImport(row: Row): FoundImport {
  return {
    path: String(row.path),
    specifier: String(row.specifier),
    line: Number(row.line),
    names: JSON.parse(String(row.names)) as string[],
    ...(row.reexport === 1 ? { reexport: true } : {}),
    ...(row.target === null ? {} : { target: String(row.target) }),
  };
}

const toRow = (row: Row): ImportRow => ({
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
