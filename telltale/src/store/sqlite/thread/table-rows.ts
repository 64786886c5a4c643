import type { DatabaseSync } from 'node:sqlite';
import { isExactSum } from '../../exact-sum.ts';
import type { Results } from '../../grouped/messages.ts';
import { notANumber, notExact } from '../../store-errors.ts';

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
