import {
  ASIDE_MS,
  LONGEST_PAUSE_MS,
  MAX_OFFERS,
  NOT_SETTLED,
  offerKey,
  offerRounds,
  type QuarantinedWork,
  RETRIES,
  TAKEN_MS,
  type TakenOffer,
  type WorkFailure,
  type WorkOffer,
  type WorkQueue,
} from '../../src/cluster/work-queue.ts';
import type { Clock } from '../../src/lib/clock.ts';

interface MemoryQueueItem extends WorkOffer {
  readonly round: number;
  readonly offeredAt: number;
  /** When it may be taken; when it was, or was laid aside. */
  at: number;
  status: 'waiting' | 'taken' | 'aside';
  /** Of its takings: tells a worker that took it from one that took it later. */
  taking: number;
  why: string;
}

/** The queue of a simulated fleet: one object that all its workers have in hand. */
export function createMemoryQueue(
  clock: Pick<Clock, 'now'>,
  { retries = RETRIES }: { readonly retries?: number } = {},
): WorkQueue {
  /** In the order in which they were offered. */
  const items = new Map<string, MemoryQueueItem>();
  const wakes = new Set<() => void>();
  let turnAt = Number.NEGATIVE_INFINITY;

  const all = (status: MemoryQueueItem['status']) =>
    [...items.values()].filter((item) => item.status === status);
  const isKept = (item: MemoryQueueItem | undefined, again: boolean) =>
    item !== undefined && (item.status !== 'aside' || !(again || item.at + ASIDE_MS <= clock.now()));

  const fail = (item: MemoryQueueItem, { code, message }: WorkFailure): 'again' | 'aside' => {
    const tries = item.taking;
    item.why = `${message} [${code}]`;
    item.status = tries > retries ? 'aside' : 'waiting';
    item.at = clock.now() + (tries > retries ? 0 : Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** (tries - 1)));
    return tries > retries ? 'aside' : 'again';
  };

  const take = (item: MemoryQueueItem): TakenOffer => {
    item.status = 'taken';
    item.at = clock.now();
    item.taking++;
    const { kind, stream, group, deaths, taking } = item;
    const isHeld = () => item.status === 'taken' && item.taking === taking;
    return {
      kind,
      stream,
      group,
      waitedMs: item.at - item.offeredAt,
      retries: taking - 1,
      ...(deaths === undefined ? {} : { deaths }),
      ...(item.tried === undefined ? {} : { tried: item.tried }),
      async settled() {
        if (isHeld()) items.delete(offerKey(item));
      },
      failed: async (why) => (isHeld() ? fail(item, why) : 'again'),
      async passedOn(tried) {
        if (!isHeld()) return;
        items.set(offerKey(item), { ...item, tried, status: 'waiting', taking: 0 });
        for (const wake of [...wakes]) wake();
      },
      async quarantined({ code, message }, tried) {
        const why = `${message} [${code}]`;
        const aside: MemoryQueueItem = { ...item, tried, status: 'aside', at: clock.now(), why };
        if (isHeld()) items.set(offerKey(item), aside);
        return asideOf(aside);
      },
    };
  };

  return {
    async offer(offers, again) {
      const fresh = new Map(
        offers
          .filter((offer) => !isKept(items.get(offerKey(offer)), again !== undefined))
          .map((offer) => [offerKey(offer), offer]),
      );
      const waiting = all('waiting');
      const last = new Map<string, number>();
      for (const { group, round } of waiting) last.set(group, Math.max(round, last.get(group) ?? 0));
      const current = waiting.reduce((least, { round }) => Math.min(least, round), Number.POSITIVE_INFINITY);
      const rounds = offerRounds(
        [...fresh.values()].map(({ group }) => group),
        { current: waiting.length === 0 ? 0 : current, last },
      );
      const now = clock.now();
      [...fresh].forEach(([key, offer], at) => {
        items.delete(key);
        items.set(key, {
          ...offer,
          round: rounds[at] ?? 0,
          offeredAt: now,
          at: now,
          status: 'waiting',
          taking: 0,
          why: '',
        });
      });
      if (fresh.size > 0) for (const wake of [...wakes]) wake();
      return fresh.size;
    },
    async take(most, last, never) {
      const now = clock.now();
      const ready = all('waiting')
        .filter(({ at, group }) => at <= now && never?.has(group) !== true)
        .sort((one, other) => one.round - other.round);
      const isLast = ({ group }: MemoryQueueItem) => last?.has(group) === true;
      return [...ready.filter((item) => !isLast(item)), ...ready.filter(isLast)]
        .slice(0, Math.max(0, Math.min(most, MAX_OFFERS)))
        .map(take);
    },
    onOffered(wake) {
      wakes.add(wake);
      return () => {
        wakes.delete(wake);
      };
    },
    async turn(everyMs) {
      if (turnAt + everyMs > clock.now()) return false;
      turnAt = clock.now();
      return true;
    },
    async tend() {
      const late = all('taken').filter(({ at }) => at + TAKEN_MS <= clock.now());
      return late.filter((item) => fail(item, NOT_SETTLED) === 'aside').map(asideOf);
    },
    async depth() {
      const waiting = all('waiting');
      const now = clock.now();
      const oldest = Math.min(now, ...waiting.map(({ at }) => at));
      return {
        waiting: waiting.length,
        taken: all('taken').length,
        laidAside: all('aside').length,
        lagMs: now - oldest,
      };
    },
    laidAside: async (limit) =>
      all('aside')
        .sort((one, other) => other.at - one.at)
        .slice(0, limit)
        .map(asideOf),
    async quarantine(offers, { code, message }) {
      const at = clock.now();
      const why = `${message} [${code}]`;
      const fresh = offers.filter((offer) => !items.has(offerKey(offer)));
      for (const offer of fresh)
        items.set(offerKey(offer), {
          ...offer,
          round: 0,
          offeredAt: at,
          at,
          status: 'aside',
          taking: 0,
          why,
        });
      return fresh.map(({ kind, stream, group }) => ({ kind, stream, group, at, why }));
    },
    async forget(streams) {
      for (const each of streams)
        if (items.get(offerKey(each))?.status === 'aside') items.delete(offerKey(each));
    },
    async close() {
      wakes.clear();
    },
  };
}

const asideOf = ({ kind, stream, group, at, why, tried }: MemoryQueueItem): QuarantinedWork => ({
  kind,
  stream,
  group,
  at,
  why,
  ...(tried === undefined ? {} : { tried }),
});
