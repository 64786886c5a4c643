import type { Json } from '../kernel/json.ts';
import { err, ok } from '../kernel/result.ts';
import { toRuntimeError } from '../kernel/runtime-error.ts';
import { stopWith } from '../kernel/stop-with.ts';
import { backOffMs } from './back-off.ts';
import type { FeedDeps } from './feed-edges.ts';
import type { FeedEntry, KeptValue, Load, Outcome } from './feed-entry.ts';
import { FEED_REFERENCE, feedDisabled, feedReference, feedUnknown, loadStopped } from './feed-errors.ts';
import { isReferable, isResting, type Moment } from './freshness.ts';
import { MAX_LOADS } from './limits.ts';
import { createLoadSlots, until } from './load-slots.ts';
import { loadValue, resolveParams } from './load-value.ts';

/** Loads values into entries. Appends nothing: what comes stays in memory until somebody wants it. */
export interface FeedLoads {
  /** The load that is under way, else a new one for `turn`: a feed is never loaded twice at once. It runs to its end. */
  want(entry: FeedEntry, turn: number): Load;
  /** As `want`, for a reader who may leave; if nobody else wants it, it is then stopped. Rejects when `signal` is aborted. */
  read(entry: FeedEntry, turn: number, refresh: boolean, signal: AbortSignal): Promise<Outcome>;
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

  const settle = (entry: FeedEntry, load: Load, outcome: Outcome) => {
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
    let end: (outcome: Outcome) => void = () => {};
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
    const finish = (outcome: Outcome) => {
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
