import type { Clock } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import type { GraphStore } from '../graph.ts';
import { createListeners, type StoreListeners } from '../listeners.ts';
import type { InboxMessage, StoredSnapshot, StreamHead, StreamOwner, Tables } from '../store.ts';
import { checkName, isExactSum, notANumber, notExact } from '../store-errors.ts';

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

/** A stream and all that belongs to it. */
export interface MemoryStream {
  readonly stream: string;
  readonly place: number;
  readonly head: StreamHead;
  createdAt: number;
  status: string;
  due: number | undefined;
  updatedAt: number;
  epoch: number;
  owner: StreamOwner | undefined;
  readonly events: MemoryRows;
  snapshots: StoredSnapshot[];
  inbox: InboxMessage[];
}

export interface MemoryValue {
  readonly json: string;
  readonly expiresAt: number | undefined;
}

export interface MemoryEntry {
  readonly n: number;
  readonly at: number;
  readonly json: string;
}

/** What outlives a store in memory: a second one on the same home finds everything, as after a restart. */
export interface MemoryHome {
  readonly streams: Map<string, MemoryStream>;
  readonly tables: Map<string, Map<string, MemoryValue>>;
  readonly lists: Map<string, MemoryEntry[]>;
  readonly wakers: StoreListeners<string>;
  readonly watchers: StoreListeners<string>;
  /** The place of the newest stream. */
  places: number;
  /** The id of the newest message. */
  messages: number;
  /** Its graphs, once they were asked for. */
  graphs: Promise<GraphStore> | undefined;
}

export function createMemoryHome(): MemoryHome {
  const nothing = () => undefined;
  return {
    streams: new Map(),
    tables: new Map(),
    lists: new Map(),
    wakers: createListeners(nothing, nothing),
    watchers: createListeners(nothing, nothing),
    places: 0,
    messages: 0,
    graphs: undefined,
  };
}

/**
 * The events of a stream as a database keeps them: a row an append, a line an event. One string for each event would be
 * four times as many objects, which the collector copies twice before it lets them lie.
 */
export interface MemoryRows {
  readonly bodies: string[];
  /** Of each row: how many events the stream has with it. */
  readonly ends: number[];
  /** Events in all of them. */
  length: number;
}

export const createMemoryRows = (): MemoryRows => ({ bodies: [], ends: [], length: 0 });

export function addRow(rows: MemoryRows, body: string, count: number): void {
  if (count === 0) return;
  rows.length += count;
  rows.bodies.push(body);
  rows.ends.push(rows.length);
}

/** At most `limit` events, those before `first` left out. */
export function readRows({ bodies, ends, length }: MemoryRows, first: number, limit: number): string[] {
  const events: string[] = [];
  const last = Math.min(length, first + limit);
  for (let row = rowOf(ends, first), at = ends[row - 1] ?? 0; at < last; at = ends[row++] ?? last) {
    const lines = (bodies[row] ?? '').split('\n');
    const from = Math.max(0, first - at);
    for (let line = from; line < lines.length && at + line < last; line++) events.push(lines[line] ?? '');
  }
  return events;
}

/** The row that holds the event with so many before it. */
function rowOf(ends: readonly number[], before: number): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] ?? 0) > before) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The order of UTF-8, as databases have it; that of JavaScript's strings differs above U+FFFF. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
