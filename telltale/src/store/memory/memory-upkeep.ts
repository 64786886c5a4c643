import type { Clock } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import type { StreamOwner, StreamWriter } from '../store.ts';
import {
  checkMessage,
  checkName,
  inboxFull,
  listMoved,
  MAX_INBOX_MESSAGES,
  streamLost,
} from '../store-errors.ts';
import type { DescribedOwner, Upkeep } from '../upkeep/upkeep.ts';
import type { MemoryHome, MemoryStream } from './memory-tables.ts';
import { byBytes, readRows } from './memory-tables.ts';

export interface MemoryUpkeepDeps {
  readonly home: MemoryHome;
  readonly clock: Pick<Clock, 'now'>;
  /** Throws where the store is closed, or there is no such stream. */
  readonly find: (stream: string) => MemoryStream;
  readonly refuse: () => void;
  readonly isAlive: (owner: StreamOwner) => boolean;
  readonly acquire: (stream: string) => StreamWriter;
}

const PAGE_EVENTS = 1_000;

export function createMemoryUpkeep(deps: MemoryUpkeepDeps): Upkeep {
  const { home, clock, find, refuse, isAlive } = deps;
  const owned = (name: string, epoch: number): MemoryStream => {
    const stream = find(name);
    if (stream.epoch !== epoch) throw streamLost(name, epoch);
    return stream;
  };
  const allRows = () =>
    [...home.tables].flatMap(([table, values]) =>
      [...values].flatMap(([key, { json, expiresAt }]) =>
        expiresAt === undefined
          ? [{ table, key, value: JSON.parse(json) as Json }]
          : expiresAt > clock.now()
            ? [{ table, key, value: JSON.parse(json) as Json, expiresAt }]
            : [],
      ),
    );
  const owners = (): readonly DescribedOwner[] => {
    const found = new Map<number, DescribedOwner>();
    for (const { owner } of home.streams.values()) {
      if (owner === undefined) continue;
      const { pid, startedAt } = owner;
      const streams = (found.get(pid)?.streams ?? 0) + 1;
      found.set(pid, { pid, startedAt, alive: isAlive(owner), streams });
    }
    return [...found.values()];
  };

  return {
    acquire: async (stream) => deps.acquire(stream),
    async describe() {
      refuse();
      const streams = [...home.streams.values()];
      const sessions = streams.filter(({ head }) => head.kind === 'session').length;
      const rows = allRows();
      return {
        kind: 'memory',
        version: 0,
        bytes: 0,
        freeBytes: 0,
        sessions,
        runs: streams.length - sessions,
        events: streams.reduce((sum, { events }) => sum + events.length, 0),
        messages: streams.reduce((sum, { inbox }) => sum + inbox.length, 0),
        rows: rows.length,
        tables: new Set(rows.map(({ table }) => table)).size,
        lists: home.lists.size,
        graphs: home.graphs !== undefined,
        owners: owners(),
        entries: [...home.lists.values()].reduce((sum, { length }) => sum + length, 0),
      };
    },
    async page(stream, from) {
      const { events } = find(stream);
      const first = Math.max(1, from);
      const page = readRows(events, first - 1, PAGE_EVENTS);
      const next = first + page.length;
      return { events: page, ...(next <= events.length ? { next } : {}) };
    },
    inbox: async (stream) => [...find(stream).inbox],
    async weigh(stream) {
      const { events, snapshots, inbox } = find(stream);
      const bodies = inbox.map(({ kind, from, body }) => JSON.stringify({ kind, from, body }));
      const texts = [...readRows(events, 0, events.length), ...snapshots.map(({ body }) => body), ...bodies];
      return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    },
    async settle(name, epoch, { status, due, createdAt, updatedAt, messages }) {
      const stream = owned(name, epoch);
      if (messages.length > MAX_INBOX_MESSAGES) throw inboxFull(name, MAX_INBOX_MESSAGES);
      for (const { kind, from, body } of messages) checkMessage(name, JSON.stringify({ kind, from, body }));
      Object.assign(stream, { status, due, createdAt, updatedAt, owner: undefined });
      stream.inbox = messages.map(({ at, kind, from, body }) => ({
        id: ++home.messages,
        at,
        kind,
        from,
        body: JSON.parse(JSON.stringify(body)) as Json,
      }));
    },
    async remove(name, epoch) {
      const stream = owned(name, epoch);
      home.streams.delete(name);
      // Whoever still writes it is to be refused.
      stream.epoch++;
    },
    async rows({ after, limit }) {
      refuse();
      const order = (a: { table: string; key: string }, b: { table: string; key: string }) =>
        byBytes(a.table, b.table) || byBytes(a.key, b.key);
      const behind = allRows().filter((row) => after === undefined || order(row, after) > 0);
      return behind.sort(order).slice(0, Math.max(1, limit));
    },
    async lists({ after = '', limit }) {
      refuse();
      const behind = [...home.lists.keys()].filter((list) => byBytes(list, after) > 0);
      return behind.sort(byBytes).slice(0, Math.max(1, limit));
    },
    async enter(list, first, entries) {
      refuse();
      checkName('A list', list);
      const there = home.lists.get(list) ?? [];
      if (there.length + 1 !== first) throw listMoved(list, first, there.length);
      for (const { at, value } of entries)
        there.push({ n: there.length + 1, at, json: JSON.stringify(value) });
      home.lists.set(list, there);
    },
    async examine() {
      refuse();
      return [];
    },
    async checksums() {
      refuse();
      return { changed: [], uncovered: 0 }; // it has no bytes that could change
    },
    async compact() {
      refuse();
      return { beforeBytes: 0, afterBytes: 0, left: 'by_itself' };
    },
  };
}
