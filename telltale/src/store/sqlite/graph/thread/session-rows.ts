import type { DatabaseSync } from 'node:sqlite';
import type { FoundSession, Numbered, SessionNote } from '../../../graph.ts';
import { prepareWrite } from './prepare-write.ts';

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
