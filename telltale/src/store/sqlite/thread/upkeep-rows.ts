import type { DatabaseSync } from 'node:sqlite';
import type { Described, Results, WriteRequest } from '../../grouped/messages.ts';
import { listMoved, streamLost, streamUnknown } from '../../store-errors.ts';
import type { Compacted } from '../../upkeep/upkeep.ts';
import { MIGRATIONS } from './migrations.ts';
import type { ThreadOwnership } from './ownership.ts';

type Settle = Extract<WriteRequest, { readonly op: 'settle' }>;
type Enter = Extract<WriteRequest, { readonly op: 'enter' }>;

/** What is done to the file as a whole. What throws a RuntimeError has written nothing. */
export interface UpkeepRows {
  describe(): Described;
  weigh(stream: string): number;
  /** The stream's number. */
  settle(request: Settle): number;
  remove(stream: string, epoch: number): number;
  rows(after: readonly [string, string] | null, limit: number, now: number): Results['rows'];
  lists(after: string, limit: number): readonly string[];
  enter(request: Enter): void;
  compact(): Compacted;
}

/** A longer answer comes in several. */
const CHUNK_CHARS = 1024 * 1024;
/** Below this share of free pages the file is not written anew: what comes next takes them. */
const WORTHWHILE = 0.1;

/** The stream's rows, from its last one backwards: the log has no index by stream. */
const CHAIN = `WITH RECURSIVE chain (id, prev, bytes) AS (
    SELECT id, prev, length(CAST(body AS BLOB)) FROM log WHERE id = ? AND stream = ?
    UNION ALL
    SELECT l.id, l.prev, length(CAST(l.body AS BLOB)) FROM chain c JOIN log l ON l.id = c.prev WHERE l.stream = ?
  )`;

export function createUpkeepRows(db: DatabaseSync, ownership: ThreadOwnership): UpkeepRows {
  const byName = db.prepare(
    'SELECT s.id, h.epoch, h.last, h.rows FROM streams s JOIN heads h ON h.id = s.id WHERE s.stream = ?',
  );
  const settle = db.prepare(
    'UPDATE heads SET status = ?, due_at = ?, updated_at = ?, owner = NULL WHERE id = ? AND epoch = ?',
  );
  const setCreated = db.prepare('UPDATE streams SET created_at = ? WHERE id = ?');
  const send = db.prepare('INSERT INTO inbox (stream, at, message) VALUES (?, ?, ?)');
  const removeChain = db.prepare(`${CHAIN} DELETE FROM log WHERE id IN (SELECT id FROM chain)`);
  const removeLoose = db.prepare('DELETE FROM log WHERE stream = ?');
  const emptyInbox = db.prepare('DELETE FROM inbox WHERE stream = ?');
  const removeRest = [
    'marks WHERE stream',
    'snapshots WHERE stream',
    'heads WHERE id',
    'streams WHERE id',
  ].map((where) => db.prepare(`DELETE FROM ${where} = ?`));
  const weigh = db.prepare(
    `${CHAIN} SELECT (SELECT coalesce(sum(bytes), 0) FROM chain)
      + (SELECT coalesce(sum(length(CAST(body AS BLOB))), 0) FROM snapshots WHERE stream = ?)
      + (SELECT coalesce(sum(length(CAST(message AS BLOB))), 0) FROM inbox WHERE stream = ?) AS bytes`,
  );
  const rowsBehind = db.prepare(
    `SELECT tab, key, value, expires_at FROM kv WHERE (tab, key) > (?, ?)
      AND (expires_at IS NULL OR expires_at > ?) ORDER BY tab, key LIMIT ?`,
  );
  const listBehind = db.prepare('SELECT min(list) AS list FROM lists WHERE list > ?');
  const lastEntry = db.prepare('SELECT coalesce(max(n), 0) AS n FROM lists WHERE list = ?');
  const enter = db.prepare('INSERT INTO lists (list, n, at, value) VALUES (?, ?, ?, ?)');

  const find = (stream: string) => {
    const row = byName.get(stream);
    if (row === undefined) throw streamUnknown(stream);
    return { id: Number(row.id), epoch: Number(row.epoch), last: Number(row.last), rows: Number(row.rows) };
  };
  const pragma = (name: string) => Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  const size = () => {
    const page = pragma('page_size');
    return { bytes: pragma('page_count') * page, freeBytes: pragma('freelist_count') * page };
  };

  return {
    describe: () => ({ kind: 'sqlite', version: MIGRATIONS.length, ...size(), ...counted(db, ownership) }),
    weigh(stream) {
      const { id, last } = find(stream);
      return Number(weigh.get(last, id, id, id, id)?.bytes);
    },
    settle({ stream, epoch, status, due, createdAt, updatedAt, messages }) {
      const { id } = find(stream);
      if (settle.run(status, due, updatedAt, id, epoch).changes !== 1) throw streamLost(stream, epoch);
      setCreated.run(createdAt, id);
      emptyInbox.run(id);
      for (const [at, message] of messages) send.run(id, at, message);
      return id;
    },
    remove(stream, epoch) {
      const { id, epoch: own, last, rows } = find(stream);
      if (own !== epoch) throw streamLost(stream, epoch);
      // A chain that is broken does not lead to all of them.
      if (Number(removeChain.run(last, id, id).changes) !== rows) removeLoose.run(id);
      emptyInbox.run(id);
      for (const statement of removeRest) statement.run(id);
      return id;
    },
    rows(after, limit, now) {
      const found: Results['rows'][number][] = [];
      let chars = 0;
      for (const row of rowsBehind.iterate(after?.[0] ?? '', after?.[1] ?? '', now, limit)) {
        const { tab, key, value, expires_at } = row as Record<string, unknown>;
        const expiresAt = expires_at === null ? null : Number(expires_at);
        found.push({ table: String(tab), key: String(key), value: String(value), expiresAt });
        chars += String(value).length;
        if (chars >= CHUNK_CHARS) break;
      }
      return found;
    },
    lists(after, limit) {
      const found: string[] = [];
      for (let last = after; found.length < limit; ) {
        const list = listBehind.get(last)?.list;
        if (list === null || list === undefined) break;
        last = String(list);
        found.push(last);
      }
      return found;
    },
    enter({ list, first, entries }) {
      const last = Number(lastEntry.get(list)?.n);
      if (last + 1 !== first) throw listMoved(list, first, last);
      for (const [place, [at, value]] of entries.entries()) enter.run(list, first + place, at, value);
    },
    compact() {
      const { bytes, freeBytes } = size();
      if (freeBytes < bytes * WORTHWHILE) return { beforeBytes: bytes, afterBytes: bytes, left: 'little' };
      db.exec('VACUUM');
      // What VACUUM wrote is in the journal: only a checkpoint makes the file as short as it now is.
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      return { beforeBytes: bytes, afterBytes: size().bytes };
    },
  };
}

function counted(
  db: DatabaseSync,
  ownership: ThreadOwnership,
): Omit<Described, 'kind' | 'version' | 'bytes' | 'freeBytes'> {
  const counts = db
    .prepare(
      `SELECT (SELECT count(*) FROM streams WHERE kind = 'session') AS sessions,
        (SELECT count(*) FROM streams WHERE kind = 'run') AS runs,
        (SELECT coalesce(sum(head), 0) FROM heads) AS events,
        (SELECT count(*) FROM inbox) AS messages,
        (SELECT count(*) FROM kv) AS rows,
        (SELECT count(DISTINCT tab) FROM kv) AS tables,
        (SELECT count(DISTINCT list) FROM lists) AS lists,
        (SELECT count(*) FROM lists) AS entries`,
    )
    .get();
  const of = (name: string) => Number(counts?.[name]);
  const hasGraphs = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'graph_graphs'").get() !== undefined;
  const streamsOf = db.prepare('SELECT count(*) AS n FROM heads WHERE owner = ?');
  return {
    sessions: of('sessions'),
    runs: of('runs'),
    events: of('events'),
    messages: of('messages'),
    rows: of('rows'),
    tables: of('tables'),
    lists: of('lists'),
    entries: of('entries'),
    graphs: hasGraphs,
    owners: ownership.all().map((owner) => ({ owner, streams: Number(streamsOf.get(owner.id)?.n) })),
  };
}
