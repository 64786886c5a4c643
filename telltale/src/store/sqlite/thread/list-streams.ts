import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { ListedStream, ListRequest } from '../../grouped/messages.ts';
import type { Ownership } from './ownership.ts';

const COLUMNS = `s.id, s.stream, s.kind, s.name, s.title, s.parent, s.created_at,
  h.status, h.updated_at, h.head, h.epoch, h.owner, h.due_at,
  (SELECT count(*) FROM inbox i WHERE i.stream = s.id) AS messages FROM streams s JOIN heads h ON h.id = s.id`;

export interface ListStreams {
  info(stream: string): ListedStream | null;
  /** Newest first. */
  list(request: ListRequest): readonly ListedStream[];
}

export function createListStreams(db: DatabaseSync, ownership: Ownership): ListStreams {
  const byName = db.prepare(`SELECT ${COLUMNS} WHERE s.stream = ?`);
  const listed = (row: Record<string, SQLOutputValue>): ListedStream => ({
    id: Number(row.id),
    stream: String(row.stream),
    kind: row.kind === 'run' ? 'run' : 'session',
    name: String(row.name),
    status: String(row.status),
    title: String(row.title),
    ...(row.parent === null ? {} : { parent: String(row.parent) }),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    head: Number(row.head),
    owner: row.owner === null ? null : ownership.noted(Number(row.owner), Number(row.epoch)),
    ...(row.messages === 0 ? {} : { messages: Number(row.messages) }),
    ...(row.due_at === null ? {} : { due: Number(row.due_at) }),
  });
  return {
    info(stream) {
      const row = byName.get(stream);
      return row === undefined ? null : listed(row);
    },
    list({ kind, status, name, parent, before, limit }) {
      const tests = ['s.id < ?'];
      const values: (string | number)[] = [before ?? Number.MAX_SAFE_INTEGER];
      for (const [column, value] of Object.entries({ kind, name, parent })) {
        if (value === null) continue;
        tests.push(`s.${column} = ?`);
        values.push(value);
      }
      if (status !== null) {
        tests.push(`h.status IN (${status.map(() => '?').join(', ')})`);
        values.push(...status);
      }
      const sql = `SELECT ${COLUMNS} WHERE ${tests.join(' AND ')} ORDER BY s.id DESC LIMIT ?`;
      return db
        .prepare(sql)
        .all(...values, limit)
        .map(listed);
    },
  };
}
