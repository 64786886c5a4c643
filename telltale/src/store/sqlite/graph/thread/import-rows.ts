import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { FoundImport, OpenImport, ResolvedImport } from '../../../graph.ts';
import type { FileRows, KnownFile } from './file-rows.ts';

type Row = Record<string, SQLOutputValue>;

export interface ImportRow extends FoundImport {
  readonly file: number;
}

export interface ImportRows {
  of(file: KnownFile, limit: number): readonly ImportRow[];
  /** Imports that lead to a file, by path. */
  to(graph: number, path: string, limit: number): readonly ImportRow[];
  open(graph: number): readonly OpenImport[];
  resolve(graph: number, resolved: readonly ResolvedImport[]): void;
}

export function createImportRows(db: DatabaseSync, files: FileRows): ImportRows {
  const columns = 'i.file, i.specifier, i.line, i.names, i.reexport, i.target, f.path';
  const joined = `SELECT ${columns} FROM graph_imports i JOIN graph_files f ON f.id = i.file WHERE`;
  const of = db.prepare(`${joined} i.id >= ? AND i.id < ? ORDER BY i.id LIMIT ?`);
  const to = db.prepare(`${joined} i.graph = ? AND i.target = ? ORDER BY f.path, i.id LIMIT ?`);
  // By target first: there are fewer of them than of imports.
  const open = db.prepare(
    `SELECT DISTINCT f.path, i.specifier FROM graph_imports i JOIN graph_files f ON f.id = i.file
     WHERE i.graph = ?1 AND i.target IS NULL
     UNION SELECT f.path, i.specifier FROM (
       SELECT t.target FROM (SELECT DISTINCT target FROM graph_imports WHERE graph = ?1 AND target IS NOT NULL) t
       WHERE NOT EXISTS (SELECT 1 FROM graph_files k WHERE k.graph = ?1 AND k.path = t.target)
     ) gone JOIN graph_imports i ON i.graph = ?1 AND i.target = gone.target JOIN graph_files f ON f.id = i.file
     ORDER BY 1, 2`,
  );
  const resolve = db.prepare(
    'UPDATE graph_imports SET target = ? WHERE id >= ? AND id < ? AND specifier = ?',
  );

  return {
    of: (file, limit) => of.all(...file.imports, limit).map(toImport),
    to: (graph, path, limit) => to.all(graph, path, limit).map(toImport),
    open: (graph) =>
      open.all(graph).map(({ path, specifier }) => ({ path: String(path), specifier: String(specifier) })),
    resolve(graph, resolved) {
      for (const { path, specifier, target } of resolved) {
        const file = files.find(graph, path);
        if (file !== undefined) resolve.run(target, ...file.imports, specifier);
      }
    },
  };
}

function toImport(row: Row): ImportRow {
  return {
    file: Number(row.file),
    path: String(row.path),
    specifier: String(row.specifier),
    line: Number(row.line),
    names: JSON.parse(String(row.names)) as string[],
    ...(row.reexport === 1 ? { reexport: true } : {}),
    ...(row.target === null ? {} : { target: String(row.target) }),
  };
}

/** Without what is the store's own. */
export const toFoundImport = ({ file: _, ...found }: ImportRow): FoundImport => found;

/** Whether a file hands on what it imports so: said outright, or a Python package, which does so by importing. */
export const handsOn = ({ reexport, path }: FoundImport): boolean =>
  reexport === true || path.endsWith('__init__.py');
