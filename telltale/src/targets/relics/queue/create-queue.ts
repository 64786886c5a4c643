import type { Clock } from '../../../kernel/clock.ts';
import type { Json } from '../../../kernel/json.ts';
import type { Tables } from '../../../store/store.ts';
import type { Queue, QueueItem } from './queue.ts';
import { leaseLost, queueBusy, queueFull } from './queue-errors.ts';
import { dueOf, type Entry, type Lease, laterKey, numberOf, readyKey } from './queue-layout.ts';

/** How many items a queue holds at the most. */
const MAX_QUEUE_ITEMS = 100_000;
/** How long a push, and the end of a lease, are remembered so that they are not made twice. */
const REMEMBER_MS = 7 * 86_400_000;
const PAGE = 32;
/** Others may be quicker this often before a call gives up. */
const MAX_LOST_RACES = 100;

export function createQueue(what: string, table: string, tables: Tables, clock: Pick<Clock, 'now'>): Queue {
  const at = (key: string, value: Json | undefined) => ({ table, key, value });
  const gone = (key: string) => at(key, undefined);
  const entryAt = async (key: string) => (await tables.get(table, key)) as Entry | undefined;
  const leaseAt = async (lease: string) => (await tables.get(table, `lease/${lease}`)) as Lease | undefined;
  const itemOf = async (key: string, { at: pushedAt, tries }: Entry): Promise<QueueItem> => {
    const n = numberOf(key);
    return { n, value: (await tables.get(table, `value/${n}`)) ?? null, pushedAt, tries };
  };
  const place = (n: number, delayMs: number, entry: Entry) =>
    at(delayMs > 0 ? laterKey(clock.now() + delayMs, n, 'delayed') : readyKey(n), entry);

  /** Puts back in line what was delayed until now, or whose lease has run out. */
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

  /** The first ready item for which `take` wins the exchange. */
  const takeFirst = async <T>(
    take: (key: string, entry: Entry) => Promise<T | undefined>,
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

  /** Ends or changes a live lease by an exchange of its item's entry. */
  const settle = async <T>(
    lease: string,
    asBefore: 'acked' | 'released' | undefined,
    change: (key: string, entry: Entry) => Promise<T | undefined>,
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

  /** `count` may be off by what crashed between two writes, so it is taken anew before a push is refused. */
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
