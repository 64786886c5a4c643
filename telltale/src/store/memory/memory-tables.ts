import type { Clock } from '../../kernel/clock.ts';
import type { Json } from '../../kernel/json.ts';
import { isExactSum } from '../exact-sum.ts';
import { checkName } from '../limits.ts';
import type { Tables } from '../store.ts';
import { notANumber, notExact } from '../store-errors.ts';
import { byBytes } from './by-bytes.ts';
import type { MemoryHome, MemoryValue } from './memory-home.ts';

/** Writes without waiting: for appends. */
export function writeValue(
  home: MemoryHome,
  table: string,
  key: string,
  value: MemoryValue | undefined,
): void {
  const values = home.tables.get(table);
  if (value === undefined) values?.delete(key);
  else if (values === undefined) home.tables.set(table, new Map([[key, value]]));
  else values.set(key, value);
}

/** `refuse` throws where the store is closed. */
export function createMemoryTables(home: MemoryHome, clock: Pick<Clock, 'now'>, refuse: () => void): Tables {
  const find = (table: string, key: string): MemoryValue | undefined => {
    refuse();
    checkName('A table', table);
    checkName('A key', key);
    const value = home.tables.get(table)?.get(key);
    if (value?.expiresAt === undefined || value.expiresAt > clock.now()) return value;
    writeValue(home, table, key, undefined);
    return undefined;
  };
  return {
    async get(table, key) {
      const value = find(table, key);
      return value === undefined ? undefined : (JSON.parse(value.json) as Json);
    },
    async set(table, key, value, { ttlMs } = {}) {
      find(table, key);
      const expiresAt = ttlMs === undefined ? undefined : clock.now() + ttlMs;
      writeValue(home, table, key, { json: JSON.stringify(value), expiresAt });
    },
    async delete(table, key) {
      const was = find(table, key) !== undefined;
      writeValue(home, table, key, undefined);
      return was;
    },
    async keys(table, { prefix = '', after = '', limit = Number.MAX_SAFE_INTEGER } = {}) {
      refuse();
      checkName('A table', table);
      const found = [...(home.tables.get(table)?.keys() ?? [])].filter(
        (key) => key.startsWith(prefix) && byBytes(key, after) > 0 && find(table, key) !== undefined,
      );
      return found.sort(byBytes).slice(0, Math.max(0, limit));
    },
    async increment(table, key, by) {
      const found = find(table, key);
      const before: unknown = found === undefined ? 0 : JSON.parse(found.json);
      const sum = typeof before === 'number' ? before + by : Number.NaN;
      if (!Number.isFinite(sum)) throw notANumber(table, key);
      if (!isExactSum(Number(before), by)) throw notExact(table, key, by);
      writeValue(home, table, key, { json: JSON.stringify(sum), expiresAt: found?.expiresAt });
      return sum;
    },
    async exchange(expected, writes) {
      for (const { table, key } of writes) find(table, key); // refuses what cannot be written before anything is
      const isAsExpected = expected.every(
        ({ table, key, value }) =>
          find(table, key)?.json === (value === undefined ? undefined : JSON.stringify(value)),
      );
      if (!isAsExpected) return false;
      for (const { table, key, value, ttlMs } of writes) {
        const expiresAt = ttlMs === undefined ? undefined : clock.now() + ttlMs;
        writeValue(
          home,
          table,
          key,
          value === undefined ? undefined : { json: JSON.stringify(value), expiresAt },
        );
      }
      return true;
    },
    async push(list, value) {
      refuse();
      checkName('A list', list);
      const entries = home.lists.get(list) ?? [];
      home.lists.set(list, entries);
      return entries.push({ n: entries.length + 1, at: clock.now(), json: JSON.stringify(value) });
    },
    async entries(list, { after = 0, last, limit = Number.MAX_SAFE_INTEGER } = {}) {
      refuse();
      checkName('A list', list);
      const behind = (home.lists.get(list) ?? []).slice(Math.max(0, after));
      const most = Math.max(0, last === undefined ? limit : Math.min(last, limit));
      const chosen =
        last === undefined ? behind.slice(0, most) : behind.slice(Math.max(0, behind.length - most));
      return chosen.map(({ n, at, json }) => ({ n, at, value: JSON.parse(json) as Json }));
    },
  };
}
