import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { GraphFile } from '../../../graph.ts';
import { prepareWrite } from './prepare-write.ts';
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
  /** Those behind a path, in order. */
  behind(graph: number, path: string, limit: number): readonly GraphFile[];
  find(graph: number, path: string): KnownFile | undefined;
  byId(id: number): KnownFile | undefined;
  /** Files right in the folder of a file, with the same ending, itself included. */
  beside(graph: number, path: string): readonly KnownFile[];
  hashOf(graph: number, path: string): string | null;
  put(graph: number, file: GraphFile, spans: FileSpans, calls: number, known: KnownFile | undefined): number;
  touch(graph: number, file: GraphFile): void;
  remove(id: number): void;
}

/** Files of one folder that make up a package. */
const MAX_BESIDE = 200;
/** A path has as many words as fit into a name. */
const PATH_WORDS = 200;

export function createFileRows(db: DatabaseSync): FileRows {
  const spans = 'symbols, symbols_end, imports, imports_end';
  const all = db.prepare(
    'SELECT path, hash, size, mtime, read_at, language, note FROM graph_files WHERE graph = ? ORDER BY path',
  );
  const behind = db.prepare(
    `SELECT path, hash, size, mtime, read_at, language, note FROM graph_files
     WHERE graph = ? AND path > ? ORDER BY path LIMIT ?`,
  );
  const find = db.prepare(`SELECT id, path, ${spans} FROM graph_files WHERE graph = ? AND path = ?`);
  const byId = db.prepare(`SELECT id, path, ${spans} FROM graph_files WHERE id = ?`);
  // Behind the slash that ends the folder comes the zero; no path begins with the last character there is.
  const beside = db.prepare(
    `SELECT id, path, ${spans} FROM graph_files WHERE graph = ? AND path > ? AND path < ?
     AND instr(substr(path, ?), '/') = 0 AND substr(path, ?) = ? LIMIT ${MAX_BESIDE}`,
  );
  const hashOf = db.prepare('SELECT hash FROM graph_files WHERE graph = ? AND path = ?');
  const insert = prepareWrite(
    db,
    `INSERT INTO graph_files (graph, path, hash, size, mtime, read_at, language, note, ${spans}, calls)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const update = prepareWrite(
    db,
    `UPDATE graph_files SET hash = ?, size = ?, mtime = ?, read_at = ?, language = ?, note = ?, symbols = ?,
     symbols_end = ?, imports = ?, imports_end = ?, calls = ? WHERE id = ?`,
  );
  const touch = prepareWrite(
    db,
    'UPDATE graph_files SET size = ?, mtime = ?, read_at = ? WHERE graph = ? AND path = ? AND hash = ?',
  );
  const remove = prepareWrite(db, 'DELETE FROM graph_files WHERE id = ?');
  const addWords = prepareWrite(
    db,
    'INSERT INTO graph_file_words (rowid, whole, name, text) VALUES (?, ?, ?, ?)',
  );
  const removeWords = prepareWrite(db, 'DELETE FROM graph_file_words WHERE rowid = ?');

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
    behind: (graph, path, limit) => behind.all(graph, path, limit).map(toFile),
    find: (graph, path) => known(find.get(graph, path)),
    byId: (id) => known(byId.get(id)),
    beside(graph, path) {
      const folder = path.slice(0, path.lastIndexOf('/') + 1);
      const ending = path.slice(path.lastIndexOf('.'));
      const end = folder === '' ? '\u{10ffff}' : `${folder.slice(0, -1)}0`;
      // As SQLite counts characters, and not as JavaScript does.
      const at = [...folder].length + 1;
      return beside.all(graph, folder, end, at, -ending.length, ending).flatMap((row) => known(row) ?? []);
    },
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
