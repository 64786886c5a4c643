import type { Json } from '../../src/kernel/json.ts';
import { isExactSum } from '../../src/store/exact-sum.ts';
import type { Tables } from '../../src/store/store.ts';
import { notExact } from '../../src/store/store-errors.ts';

interface Row {
  readonly value: Json;
  readonly until: number;
}

/** The tables of a store, in memory. `now` is for times to live. */
export function memoryTables(now: () => number = () => 0): Tables {
  const tables = new Map<string, Map<string, Row>>();
  const lists = new Map<string, { n: number; at: number; value: Json }[]>();
  const table = (name: string) => {
    const found = tables.get(name) ?? new Map<string, Row>();
    tables.set(name, found);
    return found;
  };
  const list = (name: string) => {
    const found = lists.get(name) ?? [];
    lists.set(name, found);
    return found;
  };
  const live = (name: string, key: string) => {
    const row = table(name).get(key);
    return row !== undefined && row.until > now() ? row.value : undefined;
  };
  return {
    async get(name, key) {
      return live(name, key);
    },
    async set(name, key, value, { ttlMs = Number.POSITIVE_INFINITY } = {}) {
      table(name).set(key, { value, until: now() + ttlMs });
    },
    async delete(name, key) {
      const was = live(name, key) !== undefined;
      table(name).delete(key);
      return was;
    },
    async keys(name, { prefix = '', after, limit = Number.POSITIVE_INFINITY } = {}) {
      return [...table(name).keys()]
        .filter(
          (key) =>
            live(name, key) !== undefined && key.startsWith(prefix) && (after === undefined || key > after),
        )
        .sort()
        .slice(0, limit);
    },
    async increment(name, key, by) {
      const before = Number(live(name, key) ?? 0);
      if (!isExactSum(before, by)) throw notExact(name, key, by);
      const value = before + by;
      table(name).set(key, { value, until: Number.POSITIVE_INFINITY });
      return value;
    },
    async exchange(expected, writes) {
      const isAsExpected = expected.every(
        ({ table: name, key, value }) => JSON.stringify(live(name, key)) === JSON.stringify(value),
      );
      if (!isAsExpected) return false;
      for (const { table: name, key, value, ttlMs = Number.POSITIVE_INFINITY } of writes)
        if (value === undefined) table(name).delete(key);
        else table(name).set(key, { value, until: now() + ttlMs });
      return true;
    },
    async push(name, value) {
      const entries = list(name);
      entries.push({ n: entries.length + 1, at: now(), value });
      return entries.length;
    },
    async entries(name, { after = 0, last, limit = Number.POSITIVE_INFINITY } = {}) {
      const entries = list(name).filter(({ n }) => n > after);
      return (last === undefined ? entries : entries.slice(-last)).slice(0, limit);
    },
  };
}
