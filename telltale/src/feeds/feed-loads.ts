import { createHash } from 'node:crypto';
import { parseExpression } from '../expressions/cel/parse-expression.ts';
import { resolveReferences } from '../expressions/references/resolve-references.ts';
import { err, ok, stopWith, toRuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { canonicalJson } from '../manifest/project/canonical-json.ts';
import type { Feed, FeedDeps, FeedEntry, FeedOutcome, KeptValue, Load, SharedValue } from './feed.ts';
import {
  FIRST_WAIT_MS,
  isReferable,
  isResting,
  LAST_WAIT_INTERVALS,
  LAST_WAIT_MS,
  MAX_LOADS,
  MIN_INTERVAL_MS,
  type Moment,
} from './feed.ts';
import {
  badParams,
  FEED_REFERENCE,
  feedDisabled,
  feedReference,
  feedUnknown,
  gaveNothing,
  loadStopped,
  loadTimedOut,
} from './feed-errors.ts';

/** Loads values into entries. Appends nothing: what comes stays in memory until somebody wants it. */
export interface FeedLoads {
  /** The load that is under way, else a new one for `turn`: a feed is never loaded twice at once. It runs to its end. */
  want(entry: FeedEntry, turn: number): Load;
  /** As `want`, for a reader who may leave; if nobody else wants it, it is then stopped. Rejects when `signal` is aborted. */
  read(entry: FeedEntry, turn: number, refresh: boolean, signal: AbortSignal): Promise<FeedOutcome>;
  /** All that was begun has ended. */
  ended(): Promise<unknown>;
}

export interface LoadsDeps extends FeedDeps {
  find(id: string): FeedEntry | undefined;
  ids(): readonly string[];
  moment(turn: number): Moment;
  /** Something came of a load, and the entry knows. */
  settled(entry: FeedEntry, load: Load): void;
  /** Another feed was made of this one. */
  referred(entry: FeedEntry): void;
}

export function createFeedLoads(deps: LoadsDeps): FeedLoads {
  const slots = createLoadSlots(MAX_LOADS);
  const begun = new Set<Promise<unknown>>();

  const track = (work: Promise<unknown>) => {
    const end = () => begun.delete(work);
    begun.add(work);
    work.then(end, end);
  };

  /** The value of one that is referred to, loaded where it has to be. */
  const refer = async (id: string, turn: number): Promise<readonly [string, Json]> => {
    const entry = deps.find(id);
    if (entry === undefined) throw feedReference(id, feedUnknown(id, deps.ids()));
    if (!entry.enabled) throw feedReference(id, feedDisabled(id));
    deps.referred(entry);
    const moment = deps.moment(turn);
    if (isReferable(entry, moment) && entry.value !== undefined) return [id, entry.value.value];
    if (entry.load === undefined && entry.row !== undefined && isResting(entry, moment))
      throw feedReference(id, entry.row.error);
    const outcome = await want(entry, turn).outcome;
    if (outcome.ok) return [id, outcome.value.value];
    throw feedReference(id, outcome.error);
  };

  /** Not at once: a chain of references may be longer than the stack is deep. */
  const later = async (id: string, { turn, controller }: Load): Promise<readonly [string, Json]> => {
    await Promise.resolve();
    controller.signal.throwIfAborted();
    return refer(id, turn);
  };

  const run = async (entry: FeedEntry, load: Load, refresh: boolean): Promise<KeptValue> => {
    const { feed, refs, stuck } = entry;
    const { controller } = load;
    const { signal } = controller;
    if (stuck !== undefined) throw stuck;
    const values =
      refs.length === 0 ? [] : await until(signal, Promise.all(refs.map((ref) => later(ref, load))));
    const params = resolveParams(feed, new Map(values), deps.lookup);
    const giveBack = await slots.take(signal);
    try {
      const value = await loadValue({ feed, params, controller, refresh, track }, deps);
      // One that is late is for the turn after the one that did without it.
      return { ...value, turn: load.late ? Math.max(load.turn, deps.state.turn) + 1 : load.turn };
    } finally {
      giveBack();
    }
  };

  const settle = (entry: FeedEntry, load: Load, outcome: FeedOutcome) => {
    if (entry.load !== load) return; // nobody waited for it any more
    entry.load = undefined;
    if (entry.gone) return;
    if (outcome.ok) {
      entry.value = outcome.value;
      entry.unseen = true;
      entry.lateNoted = false;
      entry.asked = false;
      entry.row = undefined;
    } else if (load.holders > 0) {
      const { error } = outcome;
      const times = (entry.row?.times ?? 0) + 1;
      // Its own source was not asked: it is tried again as soon as the other may be well.
      const waits = error.code === FEED_REFERENCE ? 1 : times;
      const retryAt = deps.clock.monotonic() + backOffMs(entry.feed, waits, deps.random());
      const { noted, told } = entry.row ?? { noted: undefined, told: [] };
      entry.row = { error, times, retryAt, noted, told };
    }
    deps.settled(entry, load);
  };

  const start = (entry: FeedEntry, turn: number, refresh: boolean): Load => {
    let end: (outcome: FeedOutcome) => void = () => {};
    const load: Load = {
      controller: new AbortController(),
      outcome: new Promise((resolve) => {
        end = resolve;
      }),
      turn,
      startedAt: deps.clock.monotonic(),
      late: false,
      noted: false,
      holders: 0,
    };
    entry.load = load;
    const finish = (outcome: FeedOutcome) => {
      settle(entry, load, outcome);
      end(outcome);
    };
    run(entry, load, refresh).then(
      (value) => finish(ok(value)),
      (thrown) => finish(err(toRuntimeError(thrown))),
    );
    return load;
  };

  const want = (entry: FeedEntry, turn: number): Load => {
    const load = entry.load ?? start(entry, turn, false);
    load.holders++;
    return load;
  };

  return {
    want,
    async read(entry, turn, refresh, signal) {
      signal.throwIfAborted();
      const load = entry.load ?? start(entry, turn, refresh);
      load.holders++;
      try {
        return await until(signal, load.outcome);
      } catch (thrown) {
        load.holders--;
        if (load.holders === 0) {
          const stopped = loadStopped(entry.feed.id, 'nobody waits for it any more');
          settle(entry, load, err(stopped));
          stopWith(load.controller, stopped);
        }
        throw thrown;
      }
    },
    ended: () => Promise.allSettled([...begun]),
  };
}

/**
 * A source's params with their references resolved: `$name` is a feed, or else what `lookup` knows; `{{name}}` inside a
 * text is a feed.
 */
function resolveParams(
  feed: Feed,
  feeds: ReadonlyMap<string, Json>,
  lookup: (name: string) => Json | undefined,
): JsonObject {
  const inserted = (name: string) => feeds.get(name);
  const whole = (name: string) => (feeds.has(name) ? feeds.get(name) : lookup(name));
  const resolved = resolveReferences(feed.source.params, { whole, inserted });
  if (!resolved.ok) throw badParams(feed.id, resolved.error.message, resolved.error.hint);
  return resolved.value.value as JsonObject;
}

export interface LoadRequest {
  readonly feed: Feed;
  readonly params: JsonObject;
  readonly controller: AbortController;
  /** Ask the source, whatever sessions share. */
  readonly refresh: boolean;
  /** Hears of everything that was begun and may outlast the load. */
  readonly track: (work: Promise<unknown>) => void;
}

type LoadDeps = Pick<FeedDeps, 'load' | 'prepare' | 'cache' | 'clock' | 'loadTimeoutMs'>;

/**
 * One value of a source, from what sessions share or from the source itself. Rejects once the controller is aborted or
 * the time for a load is over, whatever the source does then.
 */
async function loadValue(
  { feed, params, controller, refresh, track }: LoadRequest,
  deps: LoadDeps,
): Promise<SharedValue & { readonly cached?: true }> {
  const { clock, loadTimeoutMs } = deps;
  const { signal } = controller;
  /** Asks, unless it was stopped already; what throws at once is a rejection like any other. */
  const ask = async <T>(question: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const work = begin(question);
    track(work);
    return until(signal, work);
  };
  const ttlMs = sharedFor(feed);
  const key = ttlMs === undefined ? undefined : shareKey(feed, params);
  const disarm = clock.after(loadTimeoutMs, () => stopWith(controller, loadTimedOut(feed.id, loadTimeoutMs)));
  try {
    if (key !== undefined && !refresh) {
      const shared = await ask(() => begin(() => deps.cache.get(key)).catch(asMiss));
      const age = shared === undefined ? -1 : clock.now() - shared.loadedAt;
      if (shared !== undefined && age >= 0 && age < (ttlMs ?? 0)) return { ...shared, cached: true };
    }
    const raw: Json | undefined = await ask(() => deps.load({ feed, params, signal }));
    if (raw === undefined) throw gaveNothing(feed.id);
    const loadedAt = clock.now();
    const { value, tokens, truncated } = await ask(() => deps.prepare(feed, raw));
    const made = { value, tokens, ...(truncated === undefined ? {} : { truncated }), loadedAt };
    // Nobody waits for this; if it fails, the next session asks the source itself.
    if (key !== undefined) track(begin(() => deps.cache.set(key, made, ttlMs ?? 0)));
    return made;
  } finally {
    disarm();
  }
}

const begin = async <T>(question: () => Promise<T>): Promise<T> => question();

/** A cache that cannot be read is one that has nothing: the source is asked. */
const asMiss = (): undefined => undefined;

/** How long sessions of one agent share a value of this feed; undefined where they do not. */
function sharedFor({ cache_scope, cache_ttl, source, transform }: Feed): number | undefined {
  if (cache_scope !== 'agent' || cache_ttl === undefined || cache_ttl.ms === 0) return undefined;
  // These say something of the session itself.
  if (source.type === 'metadata' || source.type === 'internal' || source.type === 'agent') return undefined;
  const ofSession = transform.some((link) => 'cel' in link && readsSession(link.cel));
  return ofSession ? undefined : cache_ttl.ms;
}

/** Whether an expression reads more than `value`: its outcome is then the session's own. */
function readsSession(cel: string): boolean {
  const parsed = parseExpression(cel);
  return !parsed.ok || parsed.value.names.some(({ root }) => root !== 'value');
}

/** The same for the same feed, defined alike and asked for the same: whichever session asks, and on whichever machine. */
function shareKey(feed: Feed, params: JsonObject): string {
  const definition = canonicalJson({ feed: feed as unknown as Json, params });
  return `${feed.id}:${createHash('sha256').update(definition).digest('hex')}`;
}

/** Lets so many work at a time; the others wait, in order: never more than there are feeds, each of which loads once. */
export interface LoadSlots {
  /** Resolves with what gives the place back. A wait that is aborted rejects and takes no place. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createLoadSlots(count: number): LoadSlots {
  let free = count;
  const queue = new Set<() => void>();

  const giveBack = () => {
    const [next] = queue;
    if (next === undefined) free++;
    else {
      queue.delete(next);
      next();
    }
  };

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free--;
        return giveBack;
      }
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          queue.delete(enter);
          reject(signal.reason);
        };
        const enter = () => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        queue.add(enter);
        signal.addEventListener('abort', leave, { once: true });
      });
      return giveBack;
    },
  };
}

/** As `promise`, but rejects with the signal's reason as soon as it is aborted, whatever becomes of `promise` then. */
function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    const end = (settle: () => void) => {
      signal.removeEventListener('abort', leave);
      settle();
    };
    promise.then(
      (value) => end(() => resolve(value)),
      (error) => end(() => reject(error)),
    );
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
}

/** How much longer than its step a wait may be, so that sessions that failed together do not come back together. */
const JITTER = 0.25;

/** Doublings past the longest wait: 2 ** 53 is no reason to overflow. */
const MAX_DOUBLINGS = 30;

/** How often a periodic feed is loaded. */
export const intervalOf = (feed: Feed): number =>
  Math.max(MIN_INTERVAL_MS, feed.interval?.ms ?? FIRST_WAIT_MS);

/**
 * How long a feed that failed `times` in a row is left alone: doubles from a second (or its interval) up to five minutes
 * (or ten intervals), never less than the former and never more than the latter. `random` is from 0 to 1.
 */
export function backOffMs(feed: Feed, times: number, random: number): number {
  const periodic = feed.type === 'periodic';
  const first = periodic ? intervalOf(feed) : FIRST_WAIT_MS;
  const last = periodic ? first * LAST_WAIT_INTERVALS : LAST_WAIT_MS;
  const step = Math.min(last / (1 + JITTER), first * 2 ** Math.min(MAX_DOUBLINGS, Math.max(0, times - 1)));
  return step * (1 + JITTER * random);
}
