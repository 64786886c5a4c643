import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { GraphFile } from '../../../graph.ts';
import { indexedName, indexedText } from './words.ts';

type Row = Record<string, SQLOutputValue>;

/** Where a file's rows lie: from the first id up to, not including, the second. */
export interface FileSpans {
  readonly symbols: readonly [number, number];
  readonly imports: readonly [number, number];
}

export interface KnownFile extends FileSpans {
  readonly id: number;
  readonly path: string;
}

/** The rows of `graph_files`, and the words of their paths. */
export interface FileRows {
  all(graph: number): readonly GraphFile[];
  find(graph: number, path: string): KnownFile | undefined;
  byId(id: number): KnownFile | undefined;
  hashOf(graph: number, path: string): string | null;
  put(graph: number, file: GraphFile, spans: FileSpans, calls: number, known: KnownFile | undefined): number;
  touch(graph: number, file: GraphFile): void;
  remove(id: number): void;
}

/** A path has as many words as fit into a name. */
const PATH_WORDS = 200;

export function createFileRows(db: DatabaseSync): FileRows {
  const spans = 'symbols, symbols_end, imports, imports_end';
  const all = db.prepare(
    'SELECT path, hash, size, mtime, read_at, language, note FROM graph_files WHERE graph = ? ORDER BY path',
  );
  const find = db.prepare(`SELECT id, path, ${spans} FROM graph_files WHERE graph = ? AND path = ?`);
  const byId = db.prepare(`SELECT id, path, ${spans} FROM graph_files WHERE id = ?`);
  const hashOf = db.prepare('SELECT hash FROM graph_files WHERE graph = ? AND path = ?');
  const insert = db.prepare(
    `INSERT INTO graph_files (graph, path, hash, size, mtime, read_at, language, note, ${spans}, calls)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const update = db.prepare(
    `UPDATE graph_files SET hash = ?, size = ?, mtime = ?, read_at = ?, language = ?, note = ?, symbols = ?,
     symbols_end = ?, imports = ?, imports_end = ?, calls = ? WHERE id = ?`,
  );
  const touch = db.prepare(
    'UPDATE graph_files SET size = ?, mtime = ?, read_at = ? WHERE graph = ? AND path = ? AND hash = ?',
  );
  const remove = db.prepare('DELETE FROM graph_files WHERE id = ?');
  const addWords = db.prepare('INSERT INTO graph_file_words (rowid, whole, name, text) VALUES (?, ?, ?, ?)');
  const removeWords = db.prepare('DELETE FROM graph_file_words WHERE rowid = ?');

  const known = (row: Row | undefined): KnownFile | undefined =>
    row === undefined
      ? undefined
      : {
          id: Number(row.id),
          path: String(row.path),
          symbols: [Number(row.symbols), Number(row.symbols_end)],
          imports: [Number(row.imports), Number(row.imports_end)],
        };

  return {
    all: (graph) => all.all(graph).map(toFile),
    find: (graph, path) => known(find.get(graph, path)),
    byId: (id) => known(byId.get(id)),
    hashOf(graph, path) {
      const row = hashOf.get(graph, path);
      return row === undefined ? null : String(row.hash);
    },
    put(graph, { path, hash, size, mtimeMs, readAtMs, language, note }, at, calls, before) {
      const values = [hash, size, mtimeMs, readAtMs, language ?? null, note ?? null] as const;
      const places = [...at.symbols, ...at.imports, calls] as const;
      if (before !== undefined) {
        update.run(...values, ...places, before.id);
        return before.id;
      }
      const id = Number(insert.run(graph, path, ...values, ...places).lastInsertRowid);
      const slash = path.lastIndexOf('/');
      const [whole, name] = indexedName(path.slice(slash + 1), PATH_WORDS);
      addWords.run(id, whole, name, indexedText(path.slice(0, slash + 1), PATH_WORDS, ''));
      return id;
    },
    touch: (graph, { path, hash, size, mtimeMs, readAtMs }) =>
      void touch.run(size, mtimeMs, readAtMs, graph, path, hash),
    remove(id) {
      removeWords.run(id);
      remove.run(id);
    },
  };
}

function toFile(row: Row): GraphFile {
  return {
    path: String(row.path),
    hash: String(row.hash),
    size: Number(row.size),
    mtimeMs: Number(row.mtime),
    readAtMs: Number(row.read_at),
    ...(row.language === null ? {} : { language: String(row.language) }),
    ...(row.note === null ? {} : { note: String(row.note) }),
  };
}
