import type { DatabaseSync } from 'node:sqlite';
import type { Results, Taken } from '../../grouped/messages.ts';
import { MAX_INBOX_MESSAGES } from '../../limits.ts';
import type { StreamHead } from '../../store.ts';
import { inboxFull, streamExists, streamRestoring, streamUnknown } from '../../store-errors.ts';
import { RESTORING } from '../../upkeep/upkeep.ts';
import type { Ownership } from './ownership.ts';

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

export function createStreamRows(db: DatabaseSync, ownership: Ownership): StreamRows {
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
