import { createEmbeddedEngine, workMissing } from '../engine/embedded-engine.ts';
import type { StreamKind, Work, WorkEnd } from '../engine/engine.ts';
import { WorkerCapacity } from '../engine/worker-capacity.ts';
import type { Clock } from '../lib/clock.ts';
import { toRuntimeError } from '../lib/errors.ts';
import type { SharedStore } from '../store/shared-store.ts';
import type { Store } from '../store/store.ts';
import { createPeriodicTask, createRecovery } from './recovery.ts';
import {
  type FleetEngine,
  type FleetEngineOptions,
  MAX_OFFERS,
  offerKey,
  type QuarantinedWork,
  type TakenOffer,
  type WorkFailure,
  type WorkOffer,
  type WorkQueue,
  workerId,
} from './work-queue.ts';

/** How long notifications are collected before offers are taken, and before recovery runs. */
const TAKE_SOON_MS = 10;
const SWEEP_SOON_MS = 50;
/** The first and the longest time for which a group is left to other processes. */
const AVOID_MS = 2_000;
const LONGEST_AVOID_MS = 60_000;
/** How many quarantined streams a worker with new agents tries. */
const MAX_RECONSIDERED = 1_000;

/**
 * Runs the work of this process with an embedded engine and shares work with the fleet: streams without an
 * owner are offered to all, and taken by processes with room. Nothing important is kept in memory. The store
 * knows the owner of each stream, since when it is dead, and what is due.
 */
export function createFleetEngine(options: FleetEngineOptions): FleetEngine {
  const { store, shared, queue, clock, random, capacity, onError } = options;
  const { onQuarantined = () => undefined } = options;
  const places = options.places ?? new WorkerCapacity(capacity > 0 ? capacity : undefined);
  const local = createEmbeddedEngine({
    store,
    clock,
    onError,
    places,
  });
  const { key, agents = () => '' } = options;
  const ownId = () => workerId({ ...(key === undefined ? {} : { key }), agents: agents() });
  /**
   * Groups that are left to other processes for a while, because this one could not continue one of their
   * streams.
   */
  const avoided = new Map<string, { readonly until: number; readonly pause: number }>();
  let retries = 0;

  /**
   * Another worker may have what this one lacks, such as the manifest from before a deploy. The offer is
   * passed on until every live worker has tried it, and then quarantined.
   */
  const giveUp = async (offer: TakenOffer, why: WorkFailure) => {
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
    onQuarantined,
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
  /** Streams that this process owns or waits for. They are not given away, not even while it drains. */
  const kept = new Set<string>();
  /** The groups of dispatched streams, until they are worked on. */
  const groups = new Map<string, string>();
  const kinds = new Set<StreamKind>();
  let status: 'open' | 'draining' | 'closed' = 'open';
  /** There may be more offers than there was room for. */
  let wantsMore = false;

  const room = () => (status === 'open' && capacity > 0 && shared.isAlive() ? places.free : 0);

  const begin = (offer: TakenOffer) => {
    const { kind, stream, group } = offer;
    if (!kinds.has(kind)) {
      void offers.fail(offer, workMissing(kind, stream));
      return;
    }
    // A stream that this process works on needs no offer, but is checked again, because the offer may have a
    // reason.
    if (local.has(kind, stream)) void offers.settle(offer);
    else offers.add(offer);
    local.dispatch(kind, stream, undefined, group);
  };

  const take = async (): Promise<'soon' | undefined> => {
    const most = room();
    wantsMore = most === 0;
    if (most === 0) return undefined;
    const taken = await queue.take(most, overShare(offers.groups, capacity), avoidedNow());
    wantsMore = taken.length === most;
    // New work may have taken the places meanwhile. Recovery offers the rest again.
    for (const offer of taken)
      if (room() > 0 || local.has(offer.kind, offer.stream)) begin(offer);
      else {
        wantsMore = true;
        void offers.settle(offer).then(sweeping.wake);
      }
    if (status !== 'open') await offers.giveBack();
    return undefined;
  };

  const taking = createPeriodicTask({ clock, random, soonMs: TAKE_SOON_MS, run: take, onError });
  places.onFree(() => {
    if (wantsMore) taking.wake();
  });
  const sweeping = createPeriodicTask({
    clock,
    random,
    soonMs: SWEEP_SOON_MS,
    onError,
    run: createRecovery({ shared, queue, onQuarantined, store, clock }),
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

  const dispatch: FleetEngine['dispatch'] = (kind, stream, how, group) => {
    if (how !== undefined) kept.add(offerKey({ kind, stream }));
    if (how !== undefined || !kinds.has(kind) || local.has(kind, stream) || room() > 0) {
      if (group !== undefined) groups.set(offerKey({ kind, stream }), group);
      return local.dispatch(kind, stream, how, group);
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
    dispatch,
    wakeAt: local.wakeAt,
    async signal(kind, stream, message) {
      await store.send(stream, message);
      // Without room in this process, recovery finds the stream by its message.
      if (local.has(kind, stream) || room() > 0) local.dispatch(kind, stream);
      else sweeping.wake();
    },
    schedule: local.schedule,
    isFull: () => capacity > 0 && room() === 0,
    idle: local.idle,
    busy: local.busy,
    nextDue: local.nextDue,
    start() {
      if (status !== 'open' || deaf.length > 0) return;
      deaf = [queue.onOffered(taking.wake), shared.onOrphans(sweeping.wake)];
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

/** The groups that have used their share of this process, so that others go first. */
function overShare(groups: ReadonlyMap<string, number>, capacity: number): ReadonlySet<string> {
  const share = Math.ceil(capacity / (groups.size + 1));
  return new Set([...groups].flatMap(([group, held]) => (held >= share ? [group] : [])));
}

export interface AdmissionDeps {
  readonly shared: Pick<SharedStore, 'workers'>;
  readonly queue: Pick<WorkQueue, 'depth'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The key of this process, whose own room does not count. */
  readonly own?: string | undefined;
}

/** How many streams may wait per place of live workers. */
const WAITING_A_PLACE = 10;
/** How many streams may always wait, for example while workers restart. */
const LEAST_WAITING = 100;
/** How long one check is reused. */
const LOOK_MS = 500;

interface Room {
  /** How many more streams may wait. */
  readonly line: number;
  /** How many streams could start at once in other processes. */
  readonly places: number;
}

/**
 * Whether the fleet's queue has room for one more stream, and with `now`, whether another process has a free
 * place for it. Streams admitted since the last check count as waiting.
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

/** Offers streams that were dispatched without room, in batches. */
export interface Offering {
  add(kind: StreamKind, stream: string, group?: string): void;
  /** Resolves once all added streams were offered. */
  close(): Promise<void>;
}

interface Gathered {
  readonly kind: StreamKind;
  readonly stream: string;
  readonly group: string | undefined;
}

const GATHER_MS = 10;
/** The maximum number of collected streams. Recovery finds further ones. */
const MOST_GATHERED = 10_000;
/** Streams that are read in parallel. */
const LOOKS = 16;

export function createOffering({ store, queue, clock, onError }: OfferingDeps): Offering {
  let gathered = new Map<string, Gathered>();
  let cancel: (() => void) | undefined;
  let offered: Promise<void> = Promise.resolve();

  /** The group of a stream. Called streams share the group of their caller. */
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
    // Recovery finds streams that could not be offered.
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

export interface TakenOffersDeps {
  readonly onError: (thrown: unknown, about: { readonly kind: StreamKind; readonly stream: string }) => void;
  readonly onQuarantined: (aside: QuarantinedWork) => void;
  readonly now: () => number;
  readonly store: Pick<Store, 'info'>;
  readonly forgive: SharedStore['forgive'];
  /** Handles an offer that this process can never work on. */
  readonly giveUp?:
    | ((offer: TakenOffer, why: WorkFailure) => Promise<QuarantinedWork | 'passed on'>)
    | undefined;
  /** Called with each failure after which an offer is tried again. */
  readonly onRetry?: ((offer: TakenOffer, why: WorkFailure) => void) | undefined;
}

/** Offers that this process has taken and not settled yet. */
export interface TakenOffers {
  add(offer: TakenOffer): void;
  settle(offer: TakenOffer): Promise<void>;
  fail(offer: TakenOffer, why: WorkFailure): Promise<void>;
  /** How many streams of each group this process works on. */
  readonly groups: ReadonlyMap<string, number>;
  /** Works on a stream and settles or fails its offer. */
  perform(
    kind: StreamKind,
    stream: string,
    work: (taken: () => void) => ReturnType<Work>,
    placedBy?: string,
  ): Promise<WorkEnd>;
  /** Returns offers that were not started. Recovery offers them again. */
  giveBack(): Promise<void>;
}

/** Errors that mean another process owns the stream, so there is nothing to retry. */
const NOT_OURS: ReadonlySet<string> = new Set(['stream_owned', 'stream_lost', 'stream_moved']);

/** Errors of a process that is ending or misconfigured. */
const PASSING: ReadonlySet<string> = new Set([
  'runtime_closed',
  'engine_closed',
  'engine_misused',
  'aborted',
]);
/** Temporary system errors: missing resources or unreachable services. */
const SHORT_OF =
  /\b(?:EMFILE|ENFILE|ENOMEM|EAGAIN|EBUSY|ENOSPC|EIO|ETIMEDOUT|EPIPE|ENETUNREACH|EHOSTUNREACH|ECONN\w+|EAI_AGAIN)\b/;

/** Whether another attempt in this process cannot succeed. */
const isFinal = ({ code, message, retryable }: WorkFailure): boolean =>
  retryable === false && !PASSING.has(code) && !SHORT_OF.test(message);

const LEFT: WorkFailure = { code: 'work_left', message: 'A worker looked at it, and left it as it was.' };

export function createTakenOffers({
  onError,
  onQuarantined,
  now,
  store,
  forgive,
  giveUp,
  onRetry,
}: TakenOffersDeps): TakenOffers {
  const taken = new Map<string, TakenOffer>();
  const groups = new Map<string, number>();

  const count = (group: string, by: number) => {
    const held = (groups.get(group) ?? 0) + by;
    if (held > 0) groups.set(group, held);
    else groups.delete(group);
  };
  /** If settling fails, another process takes the offer, finds the stream owned, and settles it. */
  const settle = ({ kind, stream, settled }: TakenOffer) =>
    settled().catch((thrown) => onError(thrown, { kind, stream }));
  const fail = async (offer: TakenOffer, whyNot: WorkFailure) => {
    const { kind, stream, group, failed } = offer;
    const { code, message } = whyNot;
    try {
      if (giveUp !== undefined && isFinal(whyNot)) {
        const given = await giveUp(offer, whyNot);
        if (given !== 'passed on') onQuarantined(given);
      } else if ((await failed({ code, message })) === 'aside')
        onQuarantined({ kind, stream, group, at: now(), why: `${message} [${code}]` });
      else onRetry?.(offer, whyNot);
    } catch (thrown) {
      onError(thrown, { kind, stream });
    }
  };

  /** Whether the stream still has work that nobody does. If settled, it would be offered again and again. */
  const isLeft = async (stream: string) => {
    const info = await store.info(stream);
    if (info === undefined || info.owner !== undefined) return false;
    if (info.status === 'running') return true;
    return info.status === 'waiting' && (info.messages !== undefined || (info.due ?? now() + 1) <= now());
  };

  const end = async (offer: TakenOffer | undefined, isHeld: boolean, ended: WorkEnd): Promise<WorkEnd> => {
    if (offer === undefined || isHeld) return ended;
    const why = ended.kind === 'unable' ? ended.why : (await isLeft(offer.stream)) ? LEFT : undefined;
    await (why === undefined ? settle(offer) : fail(offer, why));
    // The queue decides when and by whom it is tried next.
    return why === undefined ? ended : { kind: 'done' };
  };

  return {
    groups,
    settle,
    fail,
    add(offer) {
      taken.set(offerKey(offer), offer);
      count(offer.group, 1);
    },
    async perform(kind, stream, work, placedBy) {
      const key = offerKey({ kind, stream });
      const offer = taken.get(key);
      taken.delete(key);
      const group = offer?.group ?? placedBy;
      if (offer === undefined && group !== undefined) count(group, 1);
      let isHeld = false;
      try {
        const ended = await work(() => {
          if (isHeld) return;
          isHeld = true;
          if (offer !== undefined) void settle(offer);
        });
        if (isHeld && offer?.deaths !== undefined)
          await forgive(stream).catch((thrown) => onError(thrown, { kind, stream }));
        return await end(offer, isHeld, ended);
      } catch (thrown) {
        const error = toRuntimeError(thrown);
        if (NOT_OURS.has(error.code)) return await end(offer, isHeld, { kind: 'done' });
        if (offer === undefined || isHeld) throw thrown;
        return await end(offer, false, { kind: 'unable', why: error });
      } finally {
        if (group !== undefined) count(group, -1);
      }
    },
    async giveBack() {
      const all = [...taken.values()];
      taken.clear();
      for (const { group } of all) count(group, -1);
      await Promise.all(all.map(settle));
    },
  };
}
