import type { Clock } from '../../lib/clock.ts';
import type { SharedStore } from '../../store/shared-store.ts';
import type { Store } from '../../store/store.ts';
import { createEmbeddedEngine, workMissing } from '../embedded/create-embedded-engine.ts';
import type { StreamKind, Work } from '../engine.ts';
import { Places } from '../locations.ts';
import { createBeat, createSweep } from './sweep.ts';
import { createTakenOffers } from './taken-offers.ts';
import type { FleetEngine, FleetEngineOptions } from './work-queue.ts';
import {
  MAX_OFFERS,
  offerKey,
  type TakenOffer,
  type WhyNot,
  type WorkOffer,
  type WorkQueue,
  workerId,
} from './work-queue.ts';

/** How long news of offers and of orphans is gathered before somebody looks. */
const TAKE_SOON_MS = 10;
const SWEEP_SOON_MS = 50;
/** For how long a group is left to others first, and at most. */
const AVOID_MS = 2_000;
const LONGEST_AVOID_MS = 60_000;
/** Quarantined streams that a worker with other agents tries. */
const MAX_RECONSIDERED = 1_000;

/**
 * Work of this process by an embedded engine, and what the processes of a fleet share round it: whatever is to be worked
 * on and is not, is offered to all by the one whose turn it is, and taken by who has room. Nothing that matters is kept
 * here: the store knows who owns a stream, since when he is dead, and what is due.
 */
export function createFleetEngine(options: FleetEngineOptions): FleetEngine {
  const { store, shared, queue, clock, random, capacity, onError } = options;
  const { onLaidAside = () => undefined } = options;
  const places = options.places ?? new Places(capacity > 0 ? capacity : undefined);
  const local = createEmbeddedEngine({
    store,
    clock,
    onError,
    places,
  });
  const { key, agents = () => '' } = options;
  const ownId = () => workerId({ ...(key === undefined ? {} : { key }), agents: agents() });
  /** Groups that are left to others for a moment, since this process could not go on with one of their streams. */
  const avoided = new Map<string, { readonly until: number; readonly pause: number }>();
  let retries = 0;

  /**
   * Another worker may have what this one lacks, such as the manifest of before a deploy: the offer is passed on until
   * each of those that are alive has tried it. Then trying again is for nobody.
   */
  const giveUp = async (offer: TakenOffer, why: WhyNot) => {
    const tried = [...new Set([...(offer.tried ?? []), ownId()])];
    const others = (await shared.workers()).filter(
      (worker) =>
        worker.alive &&
        worker.draining !== true &&
        worker.capacity > 0 &&
        worker.key !== key &&
        !tried.includes(workerId(worker)),
    );
    if (others.length === 0) return offer.quarantined(why, tried);
    const pause = Math.min(LONGEST_AVOID_MS, (avoided.get(offer.group)?.pause ?? AVOID_MS / 2) * 2);
    avoided.set(offer.group, { until: clock.monotonic() + pause, pause });
    await offer.passedOn(tried);
    return 'passed on' as const;
  };
  const avoidedNow = (): ReadonlySet<string> => {
    const now = clock.monotonic();
    for (const [group, { until, pause }] of avoided) if (until + pause <= now) avoided.delete(group);
    return new Set([...avoided].flatMap(([group, { until }]) => (until > now ? [group] : [])));
  };

  const offers = createTakenOffers({
    onError,
    onLaidAside,
    now: clock.now,
    store,
    forgive: shared.forgive,
    giveUp: key === undefined ? undefined : giveUp,
    onRetry(offer, why) {
      retries++;
      options.onRetry?.(offer, why);
    },
  });
  const hasRoomInQueue = createAdmission({ shared, queue, clock, own: options.key });
  /** Streams that this process holds or waits for: not given away, not even while it drains. */
  const kept = new Set<string>();
  /** Of streams that were placed here, until they are worked on. */
  const groups = new Map<string, string>();
  const kinds = new Set<StreamKind>();
  let status: 'open' | 'draining' | 'closed' = 'open';
  /** There may be more to take than there was room for. */
  let wantsMore = false;

  const room = () => (status === 'open' && capacity > 0 && shared.isAlive() ? places.free : 0);

  const begin = (offer: TakenOffer) => {
    const { kind, stream, group } = offer;
    if (!kinds.has(kind)) {
      void offers.fail(offer, workMissing(kind, stream));
      return;
    }
    // What is in hand here needs no offer: it is looked at once more, since the offer may have come for a reason.
    if (local.has(kind, stream)) void offers.settle(offer);
    else offers.add(offer);
    local.place(kind, stream, undefined, group);
  };

  const take = async (): Promise<'soon' | undefined> => {
    const most = room();
    wantsMore = most === 0;
    if (most === 0) return undefined;
    const taken = await queue.take(most, overShare(offers.groups, capacity), avoidedNow());
    wantsMore = taken.length === most;
    // What was accepted here meanwhile may have had the places: the next sweep offers the rest again.
    for (const offer of taken)
      if (room() > 0 || local.has(offer.kind, offer.stream)) begin(offer);
      else {
        wantsMore = true;
        void offers.settle(offer).then(sweeping.poke);
      }
    if (status !== 'open') await offers.giveBack();
    return undefined;
  };

  const taking = createBeat({ clock, random, soonMs: TAKE_SOON_MS, run: take, onError });
  places.onFree(() => {
    if (wantsMore) taking.poke();
  });
  const sweeping = createBeat({
    clock,
    random,
    soonMs: SWEEP_SOON_MS,
    onError,
    run: createSweep({ shared, queue, onLaidAside, store, clock }),
  });
  const offering = createOffering({ store, queue, clock, onError });
  let deaf: readonly (() => void)[] = [];

  const work =
    (kind: StreamKind, given: Work): Work =>
    async (stream, signal) => {
      const key = offerKey({ kind, stream });
      const group = groups.get(key);
      groups.delete(key);
      if (status !== 'open' && !kept.has(key)) return { kind: 'done' };
      try {
        return await offers.perform(kind, stream, async (taken) => given(stream, signal, taken), group);
      } finally {
        kept.delete(key);
      }
    };

  const reconsider = async (): Promise<void> => {
    const own = ownId();
    try {
      const quarantined = await queue.laidAside(MAX_RECONSIDERED);
      const fresh = quarantined.filter(({ tried }) => tried !== undefined && !tried.includes(own));
      if (fresh.length > 0)
        await queue.offer(
          fresh.map(({ kind, stream, group, tried = [] }) => ({ kind, stream, group, tried })),
          'again',
        );
    } catch (thrown) {
      onError(thrown);
    }
  };

  const place: FleetEngine['place'] = (kind, stream, how, group) => {
    if (how !== undefined) kept.add(offerKey({ kind, stream }));
    if (how !== undefined || !kinds.has(kind) || local.has(kind, stream) || room() > 0) {
      if (group !== undefined) groups.set(offerKey({ kind, stream }), group);
      return local.place(kind, stream, how, group);
    }
    if (status !== 'closed') offering.add(kind, stream, group);
    return 'elsewhere';
  };

  return {
    remembers: 'fleet',
    onWork(kind, given) {
      local.onWork(kind, work(kind, given));
      kinds.add(kind);
    },
    place,
    wakeAt: local.wakeAt,
    async signal(kind, stream, message) {
      await store.send(stream, message);
      // A message makes an orphan of a stream that nobody owns: where there is no room for it here, a sweep finds it.
      if (local.has(kind, stream) || room() > 0) local.place(kind, stream);
      else sweeping.poke();
    },
    schedule: local.schedule,
    isFull: () => capacity > 0 && room() === 0,
    idle: local.idle,
    busy: local.busy,
    nextDue: local.nextDue,
    start() {
      if (status !== 'open' || deaf.length > 0) return;
      deaf = [queue.onOffered(taking.poke), shared.onOrphans(sweeping.poke)];
      taking.start();
      sweeping.start();
      void reconsider();
    },
    reconsider,
    async drain() {
      if (status === 'open') status = 'draining';
      await taking.stop();
      await offers.giveBack();
    },
    load: () => ({ working: places.taken, capacity, draining: status !== 'open' }),
    retries: () => retries,
    async admit(how) {
      if (room() > 0) return 'here';
      return (await hasRoomInQueue(how)) ? 'queue' : 'full';
    },
    depth: queue.depth,
    async close() {
      status = 'closed';
      for (const end of deaf) end();
      const closed = local.close();
      await Promise.all([taking.stop(), sweeping.stop(), offering.close()]);
      await offers.giveBack();
      await closed;
    },
  };
}

/** The groups that have their share of this process, counting one that may be waiting: others come first. */
function overShare(groups: ReadonlyMap<string, number>, capacity: number): ReadonlySet<string> {
  const share = Math.ceil(capacity / (groups.size + 1));
  return new Set([...groups].flatMap(([group, held]) => (held >= share ? [group] : [])));
}

export interface AdmissionDeps {
  readonly shared: Pick<SharedStore, 'workers'>;
  readonly queue: Pick<WorkQueue, 'depth'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The `key` of this process's own note, which says nothing about the room of others. */
  readonly own?: string | undefined;
}

/** Streams that may wait for each place of the workers that are alive. */
const WAITING_A_PLACE = 10;
/** So many may wait while workers restart. */
const LEAST_WAITING = 100;
/** For how long one look answers all who ask. */
const LOOK_MS = 500;

interface Room {
  /** How many more may wait. */
  readonly line: number;
  /** How many could begin at once in other processes. */
  readonly places: number;
}

/**
 * Whether the fleet's queue has room for one more; for one that is to begin `now`, whether a place is free for it
 * elsewhere. Those that were let in since the last look count as waiting.
 */
export function createAdmission({
  shared,
  queue,
  clock,
  own,
}: AdmissionDeps): (how?: 'now') => Promise<boolean> {
  let look: { readonly at: number; readonly room: Promise<Room> } | undefined;
  let admitted = 0;

  const roomNow = async (): Promise<Room> => {
    const [{ waiting }, workers] = await Promise.all([queue.depth(), shared.workers()]);
    const able = workers.filter(({ alive, draining }) => alive && draining !== true);
    const all = able.reduce((sum, { capacity }) => sum + capacity, 0);
    const free = able
      .filter(({ key }) => own === undefined || key !== own)
      .reduce((sum, { capacity, working }) => sum + Math.max(0, capacity - working), 0);
    return { line: Math.max(LEAST_WAITING, all * WAITING_A_PLACE) - waiting, places: free - waiting };
  };

  return async (how) => {
    const now = clock.monotonic();
    if (look === undefined || now - look.at >= LOOK_MS) {
      const fresh = { at: now, room: roomNow() };
      look = fresh;
      admitted = 0;
      fresh.room.catch(() => {
        if (look === fresh) look = undefined;
      });
    }
    const { line, places } = await look.room;
    if (admitted >= (how === 'now' ? Math.min(line, places) : line)) return false;
    admitted++;
    return true;
  };
}

export interface OfferingDeps {
  readonly store: Pick<Store, 'info'>;
  readonly queue: Pick<WorkQueue, 'offer'>;
  readonly clock: Clock;
  readonly onError: (thrown: unknown) => void;
}

/** Offers streams that were placed where there was no room, several at a time. */
export interface Offering {
  add(kind: StreamKind, stream: string, group?: string): void;
  /** Resolves once what was added has been offered. */
  close(): Promise<void>;
}

interface Gathered {
  readonly kind: StreamKind;
  readonly stream: string;
  readonly group: string | undefined;
}

const GATHER_MS = 10;
/** Streams that wait to be offered; what comes on top is found by a sweep. */
const MOST_GATHERED = 10_000;
/** Heads that are looked at side by side. */
const LOOKS = 16;

export function createOffering({ store, queue, clock, onError }: OfferingDeps): Offering {
  let gathered = new Map<string, Gathered>();
  let cancel: (() => void) | undefined;
  let offered: Promise<void> = Promise.resolve();

  /** Streams that one other called share its turn. */
  const groupOf = async ({ stream, group }: Gathered) =>
    group ?? (await store.info(stream))?.parent ?? stream;

  const offerAll = async (all: readonly Gathered[]) => {
    const offers: WorkOffer[] = [];
    for (let at = 0; at < all.length; at += LOOKS)
      offers.push(
        ...(await Promise.all(
          all.slice(at, at + LOOKS).map(async (each) => ({ ...each, group: await groupOf(each) })),
        )),
      );
    for (let at = 0; at < offers.length; at += MAX_OFFERS)
      await queue.offer(offers.slice(at, at + MAX_OFFERS), 'again');
  };
  const flush = () => {
    cancel?.();
    cancel = undefined;
    const all = [...gathered.values()];
    gathered = new Map();
    // What could not be offered is on the log, and nobody owns it: a sweep finds it.
    offered = offered.then(() => offerAll(all)).catch(onError);
    return offered;
  };

  return {
    add(kind, stream, group) {
      if (gathered.size >= MOST_GATHERED) return;
      gathered.set(offerKey({ kind, stream }), { kind, stream, group });
      cancel ??= clock.after(GATHER_MS, () => void flush());
    },
    close: () => flush(),
  };
}
