import { createHash } from 'node:crypto';
import type { Clock } from '../../../lib/clock.ts';
import { RuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import type { Tables } from '../../../store/store.ts';
import type { Operation } from '../../operations.ts';
import { checkSize, type RelicContext, type RelicDriver, readTime, relicHealth } from '../relic-driver.ts';

const DEFAULT_LEASE_MS = 60_000;
const MAX_PEEK = 100;
const MAX_PEEK_CHARS = 1024 * 1024;

const TIME = { type: ['string', 'number'] };
const LEASE = { type: 'string', minLength: 1, maxLength: 100, description: 'What "claim" gave.' };
const LEASE_FOR = {
  ...TIME,
  description: `How long the item is kept from others: "5m", or seconds. ${DEFAULT_LEASE_MS / 1000} s if absent.`,
};
const DELAY = { ...TIME, description: 'It is given to nobody before: "10m", or seconds.' };

/** Items in the runtime's own store, handed out in the order in which they were pushed. */
export function queueDriver({ name, what, store, deps: { clock } }: RelicContext): RelicDriver {
  const queue = createQueue(what, `relic-queue:${name}`, store.tables, clock);
  const leaseMs = ({ lease_for: given }: JsonObject) =>
    given === undefined ? DEFAULT_LEASE_MS : readTime(given, '/lease_for');
  const delayMs = ({ delay }: JsonObject) => (delay === undefined ? 0 : readTime(delay, '/delay'));
  const operations: Readonly<Record<string, Operation>> = {
    push: {
      description: 'adds an item at the end',
      parameters: {
        value: { description: 'The item: any value.' },
        key: {
          type: 'string',
          minLength: 1,
          maxLength: 512,
          description: 'An item pushed under the same key within a week is not pushed again.',
        },
        delay: DELAY,
      },
      required: ['value'],
      idempotent: true,
      async run(input, { idempotencyKey }) {
        const { value = null, key } = input;
        checkSize(value, 'an item');
        // A caller's key must not collide with the idempotency key of another call.
        const known = key === undefined ? `call:${idempotencyKey}` : `key:${String(key)}`;
        const { n, duplicate } = await queue.push(value, digest(known), delayMs(input));
        return { n, ...(duplicate ? { duplicate } : {}) };
      },
    },
    claim: {
      description:
        'takes the first item for a time: "ack" ends that when the work is done; if nobody does, it is given out again. null if there is none',
      parameters: { lease_for: LEASE_FOR },
      idempotent: true,
      async run(input, { idempotencyKey }) {
        const claimed = await queue.claim(digest(idempotencyKey).slice(0, 20), leaseMs(input));
        if (claimed === undefined) return null;
        const { lease, until } = claimed;
        return { lease, until: new Date(until).toISOString(), ...shown(claimed) };
      },
    },
    ack: {
      description: 'the claimed item is done with and removed',
      parameters: { lease: LEASE },
      required: ['lease'],
      idempotent: true,
      async run({ lease }) {
        await queue.ack(String(lease));
        return { acked: true };
      },
    },
    release: {
      description: 'gives a claimed item back, to its old place',
      parameters: { lease: LEASE, delay: DELAY },
      required: ['lease'],
      idempotent: true,
      async run(input) {
        await queue.release(String(input.lease), delayMs(input));
        return { released: true };
      },
    },
    extend: {
      description: 'keeps a claimed item longer, from now on',
      parameters: { lease: LEASE, lease_for: LEASE_FOR },
      required: ['lease'],
      idempotent: true,
      run: async (input) => ({
        until: new Date(await queue.extend(String(input.lease), leaseMs(input))).toISOString(),
      }),
    },
    pop: {
      description: 'takes the first item off at once, done or not; null if there is none',
      parameters: {},
      idempotent: false,
      async run() {
        const popped = await queue.pop();
        return popped === undefined ? null : shown(popped);
      },
    },
    peek: {
      description: 'the next items, which stay where they are',
      parameters: {
        limit: { type: 'integer', minimum: 1, maximum: MAX_PEEK, description: 'How many; 1 if absent.' },
      },
      idempotent: true,
      run: async ({ limit = 1 }) => ({
        items: (await queue.peek(Number(limit), MAX_PEEK_CHARS)).map(shown),
      }),
    },
    size: {
      description: 'how many items are ready, leased and delayed',
      parameters: {},
      idempotent: true,
      run: async () => ({ ...(await queue.size()) }),
    },
    clear: {
      description: 'removes all items that nobody has claimed',
      parameters: {},
      idempotent: true,
      run: async () => ({ removed: await queue.clear() }),
    },
    health: relicHealth({
      what,
      driver: 'queue',
      where: store.location,
      clock,
      ask: async () => ({ ...(await queue.size()) }),
    }),
  };
  return { operations, byDefault: 'push' };
}

const shown = ({ n, value, pushedAt, tries }: QueueItem): JsonObject => ({
  n,
  value,
  pushed_at: new Date(pushedAt).toISOString(),
  tries,
});

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The most items a queue holds. */
const MAX_QUEUE_ITEMS = 100_000;
/** How long pushes and ended leases are remembered, so that they are not repeated. */
const REMEMBER_MS = 7 * 86_400_000;
const PAGE = 32;
/** How often a call may lose a race with other processes before it gives up. */
const MAX_LOST_RACES = 100;

export function createQueue(what: string, table: string, tables: Tables, clock: Pick<Clock, 'now'>): Queue {
  const at = (key: string, value: Json | undefined) => ({ table, key, value });
  const gone = (key: string) => at(key, undefined);
  const entryAt = async (key: string) => (await tables.get(table, key)) as QueueEntry | undefined;
  const leaseAt = async (lease: string) => (await tables.get(table, `lease/${lease}`)) as Lease | undefined;
  const itemOf = async (key: string, { at: pushedAt, tries }: QueueEntry): Promise<QueueItem> => {
    const n = numberOf(key);
    return { n, value: (await tables.get(table, `value/${n}`)) ?? null, pushedAt, tries };
  };
  const place = (n: number, delayMs: number, entry: QueueEntry) =>
    at(delayMs > 0 ? laterKey(clock.now() + delayMs, n, 'delayed') : readyKey(n), entry);

  /** Makes items ready again whose delay or lease has expired. */
  const wakeDue = async (): Promise<void> => {
    for (let rounds = 0; rounds <= MAX_QUEUE_ITEMS / PAGE; rounds++) {
      const keys = await tables.keys(table, { prefix: 'later/', limit: PAGE });
      const due = keys.filter((key) => dueOf(key) <= clock.now());
      for (const key of due) {
        const entry = await entryAt(key);
        if (entry === undefined) continue;
        const { lease, ...rest } = entry;
        await tables.exchange(
          [at(key, entry)],
          [
            gone(key),
            at(readyKey(numberOf(key)), rest),
            ...(lease === undefined ? [] : [gone(`lease/${lease}`)]),
          ],
        );
      }
      if (due.length < PAGE) return;
    }
  };

  /** Takes the first ready item for which `take` wins the exchange. */
  const takeFirst = async <T>(
    take: (key: string, entry: QueueEntry) => Promise<T | undefined>,
  ): Promise<T | undefined> => {
    await wakeDue();
    for (let lost = 0; lost < MAX_LOST_RACES; ) {
      const keys = await tables.keys(table, { prefix: 'ready/', limit: PAGE });
      if (keys.length === 0) return undefined;
      for (const key of keys) {
        const entry = await entryAt(key);
        const taken = entry === undefined ? undefined : await take(key, entry);
        if (taken !== undefined) return taken;
        lost++;
      }
    }
    throw queueBusy(what);
  };

  /** Ends or changes a live lease by exchanging its item's entry. */
  const settle = async <T>(
    lease: string,
    asBefore: 'acked' | 'released' | undefined,
    change: (key: string, entry: QueueEntry) => Promise<T | undefined>,
  ): Promise<T | undefined> => {
    for (let lost = 0; lost < MAX_LOST_RACES; lost++) {
      const found = await leaseAt(lease);
      if (found === undefined) throw leaseLost(what, lease, 'has run out');
      if ('ended' in found) {
        if (found.ended === asBefore) return undefined;
        throw leaseLost(what, lease, `was ${found.ended} before`);
      }
      const entry = await entryAt(found.key);
      const changed = entry?.lease === lease ? await change(found.key, entry) : undefined;
      if (changed !== undefined) return changed;
    }
    throw queueBusy(what);
  };
  const ended = (lease: string, how: 'acked' | 'released') => ({
    ...at(`lease/${lease}`, { ended: how }),
    ttlMs: REMEMBER_MS,
  });
  const all = async (prefix: string) => tables.keys(table, { prefix });

  /**
   * Counts a new item. A crash between two writes can make `count` wrong, so it is recounted before a push is refused.
   */
  const makeRoom = async (): Promise<void> => {
    if ((await tables.increment(table, 'count', 1)) <= MAX_QUEUE_ITEMS) return;
    const items = (await all('ready/')).length + (await all('later/')).length;
    await tables.set(table, 'count', Math.min(items + 1, MAX_QUEUE_ITEMS));
    if (items >= MAX_QUEUE_ITEMS) throw queueFull(what, MAX_QUEUE_ITEMS);
  };

  return {
    async push(value, key, delayMs) {
      const pushed = `push/${key}`;
      const before = await tables.get(table, pushed);
      if (before !== undefined) return { n: Number(before), duplicate: true };
      await makeRoom();
      const n = await tables.increment(table, 'next', 1);
      const isFirst = await tables.exchange(
        [gone(pushed)],
        [
          { ...at(pushed, n), ttlMs: REMEMBER_MS },
          at(`value/${n}`, value),
          place(n, delayMs, { at: clock.now(), tries: 0 }),
        ],
      );
      if (isFirst) return { n, duplicate: false };
      await tables.increment(table, 'count', -1);
      return { n: Number(await tables.get(table, pushed)), duplicate: true };
    },
    async claim(lease, leaseMs) {
      const held = await leaseAt(lease);
      if (held !== undefined && 'key' in held && dueOf(held.key) > clock.now()) {
        const entry = await entryAt(held.key);
        if (entry?.lease === lease)
          return { ...(await itemOf(held.key, entry)), lease, until: dueOf(held.key) };
      }
      return takeFirst(async (key, entry) => {
        const until = clock.now() + leaseMs;
        const item = await itemOf(key, { ...entry, tries: entry.tries + 1 });
        const later = laterKey(until, item.n, 'leased');
        const won = await tables.exchange(
          [at(key, entry)],
          [
            gone(key),
            at(later, { at: entry.at, tries: item.tries, lease }),
            at(`lease/${lease}`, { key: later }),
          ],
        );
        return won ? { ...item, lease, until } : undefined;
      });
    },
    async pop() {
      const popped = await takeFirst(async (key, entry) => {
        const item = await itemOf(key, { ...entry, tries: entry.tries + 1 });
        const won = await tables.exchange([at(key, entry)], [gone(key), gone(`value/${item.n}`)]);
        return won ? item : undefined;
      });
      if (popped !== undefined) await tables.increment(table, 'count', -1);
      return popped;
    },
    async ack(lease) {
      const settled = await settle(lease, 'acked', async (key, entry) => {
        const writes = [gone(key), gone(`value/${numberOf(key)}`), ended(lease, 'acked')];
        return (await tables.exchange([at(key, entry)], writes)) || undefined;
      });
      if (settled === true) await tables.increment(table, 'count', -1);
    },
    async release(lease, delayMs) {
      await settle(lease, 'released', async (key, { lease: _, ...entry }) => {
        const writes = [gone(key), place(numberOf(key), delayMs, entry), ended(lease, 'released')];
        return (await tables.exchange([at(key, { ...entry, lease })], writes)) || undefined;
      });
    },
    async extend(lease, leaseMs) {
      const until = clock.now() + leaseMs;
      await settle(lease, undefined, async (key, entry) => {
        const later = laterKey(until, numberOf(key), 'leased');
        if (later === key) return true;
        const writes = [gone(key), at(later, entry), at(`lease/${lease}`, { key: later })];
        return (await tables.exchange([at(key, entry)], writes)) || undefined;
      });
      return until;
    },
    async peek(limit, maxChars) {
      await wakeDue();
      const items: QueueItem[] = [];
      let chars = 0;
      for (const key of await tables.keys(table, { prefix: 'ready/', limit })) {
        const entry = await entryAt(key);
        if (entry === undefined) continue;
        const item = await itemOf(key, entry);
        chars += JSON.stringify(item.value).length;
        if (chars > maxChars && items.length > 0) break;
        items.push(item);
      }
      return items;
    },
    async size() {
      const [ready, later] = await Promise.all([all('ready/'), all('later/')]);
      const now = clock.now();
      const waiting = later.filter((key) => dueOf(key) > now);
      const leased = waiting.filter((key) => key.endsWith('/leased')).length;
      return {
        ready: ready.length + later.length - waiting.length,
        leased,
        delayed: waiting.length - leased,
      };
    },
    async clear() {
      await wakeDue();
      let removed = 0;
      const free = [
        ...(await all('ready/')),
        ...(await all('later/')).filter((key) => key.endsWith('/delayed')),
      ];
      for (let start = 0; start < free.length; start += PAGE) {
        const page = free.slice(start, start + PAGE);
        const wins = await Promise.all(
          page.map(async (key) => {
            const entry = await entryAt(key);
            if (entry === undefined) return false;
            return tables.exchange([at(key, entry)], [gone(key), gone(`value/${numberOf(key)}`)]);
          }),
        );
        removed += wins.filter((won) => won).length;
      }
      if (removed > 0) await tables.increment(table, 'count', -removed);
      return removed;
    },
  };
}

/** The entry of an item, at `ready/N` or `later/DUE/N/HOW`. Its value is at `value/N`. */
export type QueueEntry = { readonly at: number; readonly tries: number; readonly lease?: string };

/** A claim, at `lease/LEASE`: the key of its item, or how it ended. */
export type Lease = { readonly key: string } | { readonly ended: 'acked' | 'released' };

/** Keys are sorted as text, so numbers are padded. */
const padded = (n: number) => String(n).padStart(16, '0');

const readyKey = (n: number) => `ready/${padded(n)}`;

const laterKey = (due: number, n: number, how: 'leased' | 'delayed') =>
  `later/${padded(due)}/${padded(n)}/${how}`;

/** When the item of a `later` key becomes ready. */
const dueOf = (key: string) => Number(key.split('/')[1]);

const numberOf = (key: string) => Number(key.split('/')[key.startsWith('ready/') ? 1 : 2]);

const queueFull = (what: string, limit: number) =>
  new RuntimeError('queue_full', `The ${what} is full: it holds ${limit} items.`, {
    hint: 'Remove items or clear it, then push again.',
    retryable: true,
  });

const queueBusy = (what: string) =>
  new RuntimeError('queue_busy', `Other processes took every item of ${what} first.`, {
    hint: 'Try again.',
    retryable: true,
  });

/** `why` is a verb phrase: `has run out`. */
const leaseLost = (what: string, lease: string, why: string) =>
  new RuntimeError('lease_lost', `The lease "${lease}" of ${what} ${why}, or there was none.`, {
    hint: 'Another worker may have the item now, so claim again. To keep a lease longer, use "extend".',
  });

export interface QueueItem {
  /** Its position in the order of pushes. */
  readonly n: number;
  readonly value: Json;
  readonly pushedAt: number;
  /** How often it was claimed, including this time. */
  readonly tries: number;
}

export interface ClaimedItem extends QueueItem {
  readonly lease: string;
  /** When others can claim it again, unless it is acknowledged before. */
  readonly until: number;
}

export interface QueueSize {
  readonly ready: number;
  readonly leased: number;
  readonly delayed: number;
}

/**
 * A queue in a table of the store, first in, first out among ready items. Every step is one atomic exchange, so several
 * processes on one store never get the same item at the same time, and no crash loses one.
 */
export interface Queue {
  /** A second push with the same `key` is ignored. */
  push(
    value: Json,
    key: string,
    delayMs: number,
  ): Promise<{ readonly n: number; readonly duplicate: boolean }>;
  /** `lease` names the claim. The same name returns the same item again. */
  claim(lease: string, leaseMs: number): Promise<ClaimedItem | undefined>;
  /** Removes an item for good. */
  pop(): Promise<QueueItem | undefined>;
  ack(lease: string): Promise<void>;
  release(lease: string, delayMs: number): Promise<void>;
  /** Returns when the lease now ends. */
  extend(lease: string, leaseMs: number): Promise<number>;
  peek(limit: number, maxChars: number): Promise<readonly QueueItem[]>;
  size(): Promise<QueueSize>;
  /** Removes unclaimed items and returns how many there were. */
  clear(): Promise<number>;
}
