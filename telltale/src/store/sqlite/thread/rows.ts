import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { ListedStream, ListRequest, Results, Taken } from '../../grouped/messages.ts';
import type { StreamHead } from '../../store.ts';
import {
  inboxFull,
  isExactSum,
  MAX_INBOX_MESSAGES,
  notANumber,
  notExact,
  streamExists,
  streamRestoring,
  streamUnknown,
} from '../../store-errors.ts';
import { RESTORING } from '../../upkeep/upkeep.ts';
import type { ThreadOwnership } from './ownership.ts';

/** Expired rows that a write with a time to live clears away: more than it makes, so that they cannot pile up. */
const SWEEP = 16;

export interface TableRows {
  get(table: string, key: string, now: number): string | null;
  set(table: string, key: string, value: string, expiresAt: number | null, now: number): void;
  delete(table: string, key: string, now: number): boolean;
  /** Throws before it writes. */
  increment(table: string, key: string, by: number, now: number): number;
  keys(table: string, prefix: string, after: string, limit: number, now: number): readonly string[];
  push(list: string, value: string, now: number): number;
  entries(list: string, after: number, last: number | null, limit: number): Results['entries'];
}

export function createTableRows(db: DatabaseSync): TableRows {
  const alive = '(expires_at IS NULL OR expires_at > ?)';
  const get = db.prepare(`SELECT value FROM kv WHERE tab = ? AND key = ? AND ${alive}`);
  const set = db.prepare('INSERT OR REPLACE INTO kv (tab, key, value, expires_at) VALUES (?, ?, ?, ?)');
  const change = db.prepare('UPDATE kv SET value = ? WHERE tab = ? AND key = ?');
  const remove = db.prepare('DELETE FROM kv WHERE tab = ? AND key = ?');
  const sweep = db.prepare(
    `DELETE FROM kv WHERE (tab, key) IN (SELECT tab, key FROM kv WHERE expires_at <= ? LIMIT ${SWEEP})`,
  );
  const keys = db.prepare(
    `SELECT key FROM kv WHERE tab = ? AND key >= ? AND key > ? AND ${alive} ORDER BY key LIMIT ?`,
  );
  const lastEntry = db.prepare('SELECT max(n) AS n FROM lists WHERE list = ?');
  const push = db.prepare('INSERT INTO lists (list, n, at, value) VALUES (?, ?, ?, ?)');
  const entries = db.prepare('SELECT n, at, value FROM lists WHERE list = ? AND n > ? ORDER BY n LIMIT ?');
  const newest = db.prepare(
    'SELECT n, at, value FROM lists WHERE list = ? AND n > ? ORDER BY n DESC LIMIT ?',
  );

  const read = (table: string, key: string, now: number): string | null => {
    const value = get.get(table, key, now)?.value;
    return value === undefined ? null : String(value);
  };

  return {
    get: read,
    set(table, key, value, expiresAt, now) {
      if (expiresAt !== null) sweep.run(now);
      set.run(table, key, value, expiresAt);
    },
    delete(table, key, now) {
      const was = read(table, key, now) !== null;
      remove.run(table, key);
      return was;
    },
    increment(table, key, by, now) {
      const found = read(table, key, now);
      const before: unknown = found === null ? 0 : JSON.parse(found);
      const after = typeof before === 'number' ? before + by : Number.NaN;
      if (!Number.isFinite(after)) throw notANumber(table, key);
      if (!isExactSum(Number(before), by)) throw notExact(table, key, by);
      if (found === null) set.run(table, key, JSON.stringify(after), null);
      else change.run(JSON.stringify(after), table, key);
      return after;
    },
    keys(table, prefix, after, limit, now) {
      // Keys with one prefix lie together, so the first without it ends them.
      const found: string[] = [];
      for (const row of keys.iterate(table, prefix, after, now, limit)) {
        const key = String((row as { readonly key: unknown }).key);
        if (!key.startsWith(prefix)) break;
        found.push(key);
      }
      return found;
    },
    push(list, value, now) {
      const n = Number(lastEntry.get(list)?.n ?? 0) + 1;
      push.run(list, n, now, value);
      return n;
    },
    entries(list, after, last, limit) {
      const rows =
        last === null
          ? entries.all(list, after, limit)
          : newest.all(list, after, Math.min(last, limit)).reverse();
      return rows.map((row) => ({ n: Number(row.n), at: Number(row.at), value: String(row.value) }));
    },
  };
}

/** Streams, who owns them, their inboxes and snapshots. What throws a RuntimeError has written nothing. */
export interface StreamRows {
  create(stream: string, head: StreamHead, now: number): Taken;
  acquire(stream: string, dead: number | null, restoring: boolean): Results['acquire'];
  dissolve(owner: number): void;
  owners(): Results['owners'];
  release(stream: number, epoch: number): void;
  snapshot(stream: number, epoch: number, seq: number, body: string): void;
  snapshots(stream: string): Results['snapshots'];
  send(stream: string, message: string, now: number): { readonly id: number; readonly owner: number | null };
  inbox(stream: string): Results['inbox'];
}

export function createStreamRows(db: DatabaseSync, ownership: ThreadOwnership): StreamRows {
  const byName = db.prepare(
    'SELECT s.id, h.epoch, h.head, h.owner, h.status FROM streams s JOIN heads h ON h.id = s.id WHERE s.stream = ?',
  );
  const insertStream = db.prepare(
    'INSERT INTO streams (stream, kind, name, title, parent, created_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const insertHead = db.prepare(
    'INSERT INTO heads (id, epoch, owner, head, last, rows, status, updated_at) VALUES (?, 1, ?, 0, 0, 0, ?, ?)',
  );
  const take = db.prepare('UPDATE heads SET epoch = ?, owner = ? WHERE id = ?');
  const release = db.prepare('UPDATE heads SET owner = NULL WHERE id = ? AND epoch = ?');
  const keepSnapshot = db.prepare(
    'INSERT OR REPLACE INTO snapshots (stream, seq, body) SELECT id, ?, ? FROM heads WHERE id = ? AND epoch = ? AND head >= ?',
  );
  const snapshots = db.prepare('SELECT seq, body FROM snapshots WHERE stream = ? ORDER BY seq');
  const waiting = db.prepare('SELECT count(*) AS n FROM inbox WHERE stream = ?');
  const send = db.prepare('INSERT INTO inbox (stream, at, message) VALUES (?, ?, ?)');
  const inbox = db.prepare(
    'SELECT i.id, i.at, i.message FROM streams s JOIN inbox i ON i.stream = s.id WHERE s.stream = ? ORDER BY i.id',
  );

  const find = (stream: string) => {
    const row = byName.get(stream);
    if (row === undefined) throw streamUnknown(stream);
    const owner = row.owner === null ? null : Number(row.owner);
    const { id, epoch, head, status } = row;
    return { id: Number(id), epoch: Number(epoch), head: Number(head), owner, status };
  };

  return {
    create(stream, head, now) {
      const { kind, name, title, parent, status } = head;
      const made = insertStream.run(stream, kind, name, title, parent ?? null, now);
      if (made.changes === 0) throw streamExists(stream);
      const id = Number(made.lastInsertRowid);
      insertHead.run(id, ownership.claim(), status, now);
      return { id, epoch: 1, head: 0 };
    },
    acquire(stream, dead, restoring) {
      const { id, epoch, head, owner, status } = find(stream);
      if (status === RESTORING && !restoring) throw streamRestoring(stream);
      const noted = owner === null || owner === dead ? null : ownership.noted(owner, epoch);
      if (noted !== null) return { ownedBy: noted };
      if (owner !== null) ownership.dissolve(owner);
      take.run(epoch + 1, ownership.claim(), id);
      return { id, epoch: epoch + 1, head };
    },
    dissolve: ownership.dissolve,
    owners: ownership.all,
    release: (stream, epoch) => void release.run(stream, epoch),
    snapshot: (stream, epoch, seq, body) => void keepSnapshot.run(seq, body, stream, epoch, seq),
    snapshots: (stream) =>
      snapshots.all(find(stream).id).map((row) => ({ seq: Number(row.seq), body: String(row.body) })),
    send(stream, message, now) {
      const { id, owner } = find(stream);
      if (Number(waiting.get(id)?.n) >= MAX_INBOX_MESSAGES) throw inboxFull(stream, MAX_INBOX_MESSAGES);
      return { id: Number(send.run(id, now, message).lastInsertRowid), owner };
    },
    inbox: (stream) =>
      inbox.all(stream).map((row) => ({
        id: Number(row.id),
        at: Number(row.at),
        message: String(row.message),
      })),
  };
}

const COLUMNS = `s.id, s.stream, s.kind, s.name, s.title, s.parent, s.created_at,
  h.status, h.updated_at, h.head, h.epoch, h.owner, h.due_at,
  (SELECT count(*) FROM inbox i WHERE i.stream = s.id) AS messages FROM streams s JOIN heads h ON h.id = s.id`;

export interface ListStreams {
  info(stream: string): ListedStream | null;
  /** Newest first. */
  list(request: ListRequest): readonly ListedStream[];
}

export function createListStreams(db: DatabaseSync, ownership: ThreadOwnership): ListStreams {
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
