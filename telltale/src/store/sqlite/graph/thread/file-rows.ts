import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { FoundSession, GraphFile, Numbered, SessionNote } from '../../../graph.ts';
import { indexedName, indexedText } from './words.ts';

type FileRowsRow = Record<string, SQLOutputValue>;

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

  const known = (row: FileRowsRow | undefined): KnownFile | undefined =>
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

function toFile(row: FileRowsRow): GraphFile {
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

/**
 * A statement that writes. What it says of its row is a bigint: those of the index of words lie beyond 2^53, and Node 26
 * gives no such number, but throws when the row is written.
 */
export function prepareWrite(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement;
}

export interface SessionRows {
  /** Within a transaction. */
  note(graph: number, session: SessionNote): void;
  of(graph: number, path: string, limit: number): readonly FoundSession[];
  /** All of them, those behind a number. */
  all(graph: number, after: number, limit: number): readonly (SessionNote & Numbered)[];
  count(graph: number): number;
  remove(graph: number): void;
}

export function createSessionRows(db: DatabaseSync): SessionRows {
  const put = db.prepare(
    `INSERT INTO graph_sessions (graph, session, title, at, at_commit) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (graph, session) DO UPDATE SET title = excluded.title, at = excluded.at, at_commit = excluded.at_commit
     RETURNING id`,
  );
  const addFile = prepareWrite(
    db,
    `INSERT INTO graph_session_files (graph, path, session, changed) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET changed = max(changed, excluded.changed)`,
  );
  const of = db.prepare(
    `SELECT s.session, s.title, s.at, f.changed FROM graph_session_files f JOIN graph_sessions s ON s.id = f.session
     WHERE f.graph = ? AND f.path = ? ORDER BY s.at DESC, s.id DESC LIMIT ?`,
  );
  const behind = db.prepare(
    'SELECT id, session, title, at, at_commit FROM graph_sessions WHERE graph = ? AND id > ? ORDER BY id LIMIT ?',
  );
  // No index leads from a session to its files: the graph's are read in the order of their paths.
  const filesOf = db.prepare(
    'SELECT path, changed FROM graph_session_files WHERE graph = ? AND session = ? ORDER BY path',
  );
  const count = db.prepare('SELECT count(*) AS n FROM graph_sessions WHERE graph = ?');
  const removeFiles = prepareWrite(db, 'DELETE FROM graph_session_files WHERE graph = ?');
  const remove = prepareWrite(db, 'DELETE FROM graph_sessions WHERE graph = ?');
  return {
    note(graph, { session, title, atMs, commit, read, changed }) {
      const id = Number(put.get(graph, session, title, atMs, commit ?? null)?.id);
      for (const path of read) addFile.run(graph, path, id, 0);
      for (const path of changed) addFile.run(graph, path, id, 1);
    },
    of: (graph, path, limit) =>
      of.all(graph, path, limit).map((row) => ({
        session: String(row.session),
        title: String(row.title),
        atMs: Number(row.at),
        did: row.changed === 1 ? 'changed' : 'read',
      })),
    all: (graph, after, limit) =>
      behind.all(graph, after, limit).map(({ id, session, title, at, at_commit }) => {
        const files = filesOf.all(graph, Number(id)).map(({ path, changed }) => ({
          path: String(path),
          isChanged: changed === 1,
        }));
        return {
          n: Number(id),
          session: String(session),
          title: String(title),
          atMs: Number(at),
          ...(at_commit === null ? {} : { commit: String(at_commit) }),
          read: files.filter(({ isChanged }) => !isChanged).map(({ path }) => path),
          changed: files.filter(({ isChanged }) => isChanged).map(({ path }) => path),
        };
      }),
    count: (graph) => Number(count.get(graph)?.n),
    remove(graph) {
      removeFiles.run(graph);
      remove.run(graph);
    },
  };
}
