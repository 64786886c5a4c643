import type { EventBody } from '../events/event.ts';
import { stopWith } from '../kernel/stop-with.ts';
import { within } from '../kernel/within.ts';
import { askFeeds } from './ask-feeds.ts';
import { changeFeeds } from './change-feeds.ts';
import type { FeedDeps } from './feed-edges.ts';
import type { FeedEntry, Load } from './feed-entry.ts';
import { keeperClosed } from './feed-errors.ts';
import { createFeedLoads } from './feed-loads.ts';
import { createEntry, createFeedShelf } from './feed-shelf.ts';
import { isDue, type Moment } from './freshness.ts';
import type { FeedKeeper } from './keeper.ts';
import { CLOSE_WAIT_MS } from './limits.ts';
import { viewOf } from './list-feeds.ts';
import { createPeriodicLoads } from './periodic-loads.ts';
import { sayNews } from './say-news.ts';
import { takeOver } from './take-over.ts';

/**
 * The feeds of one session.
 *
 * - Loads only ever change what is in memory. The log is written within calls of the keeper, so that a feed that is loaded
 *   every second does not grow it: before a turn, and where somebody names or reads a feed.
 * - A turn waits for on-demand feeds only, all side by side and no longer than the deadline; one that did not come in
 *   time goes on loading, is not waited for again, and is shown in the turn after it came.
 * - After `close` nothing is appended, loaded or called back.
 */
export function createFeedKeeper(deps: FeedDeps): FeedKeeper {
  const { clock, state } = deps;
  const shelf = createFeedShelf(deps);
  const closing = new AbortController();
  /** Not shown, but the log has to hear of them: loaded or referred to since the last turn. */
  const touched = new Set<FeedEntry>();
  let begun = false;
  let first = true;
  let waiting: Promise<void> | undefined;
  let closed = false;
  let ended: Promise<void> | undefined;

  const append = (body: EventBody) => {
    if (!closed) deps.append(body);
  };
  const moment = (turn: number): Moment => ({ turn, now: clock.now(), monotonic: clock.monotonic() });

  const loads = createFeedLoads({
    ...deps,
    find: shelf.find,
    ids: shelf.ids,
    moment,
    referred: (entry) => touched.add(entry),
    settled(entry, load) {
      if (closed) return;
      // What a periodic feed gives is for whoever asks; that it fails, or no longer does, is for the log.
      const told = state.feeds.get(entry.feed.id)?.failing !== undefined;
      if (entry.feed.type === 'on_demand' || entry.row !== undefined || told) touched.add(entry);
      if (entry.feed.type === 'periodic') periodic.settled(entry, load);
    },
  });
  const periodic = createPeriodicLoads({
    clock,
    state,
    start: (entry) => loads.want(entry, state.turn),
  });

  /** Takes up or leaves off what is loaded by itself, after `enabled` or the feed itself has changed. */
  const follow = (entry: FeedEntry) => {
    if (entry.feed.type !== 'periodic' || !begun) return;
    if (entry.enabled && !entry.gone) periodic.begin(entry);
    else periodic.end(entry);
  };
  const decide = (always = false) => {
    for (const entry of shelf.decide(always)) follow(entry);
  };
  const say = () => {
    const injected = shelf.injected();
    for (const entry of injected) touched.delete(entry);
    const others = [...touched].filter(({ gone }) => !gone);
    touched.clear();
    sayNews(injected, others, moment(state.turn + 1), { ...deps, append });
  };

  const end = async () => {
    closed = true;
    const stopped = keeperClosed();
    stopWith(closing, stopped);
    for (const entry of shelf.all()) {
      periodic.end(entry);
      if (entry.load !== undefined) stopWith(entry.load.controller, stopped);
    }
    await within(clock, CLOSE_WAIT_MS, loads.ended());
  };

  shelf.put(deps.feeds.map((feed) => createEntry(feed, 'manifest', undefined, undefined)));

  return {
    begin() {
      if (begun || closed) return;
      begun = true;
      takeOver(deps, shelf);
      shelf.decide(true);
      for (const entry of shelf.all()) follow(entry);
    },

    beforeTurn() {
      if (closed) return undefined;
      if (waiting !== undefined) return waiting;
      decide(first);
      first = false;
      periodic.wake();
      const injected = shelf.injected();
      if (injected.length === 0 && touched.size === 0) return undefined;
      const coming = moment(state.turn + 1);
      const awaited: Load[] = [];
      for (const entry of injected) {
        if (entry.feed.type !== 'on_demand') continue;
        if (isDue(entry, coming)) loads.want(entry, coming.turn);
        const { load } = entry;
        if (load === undefined || load.late) continue;
        load.turn = coming.turn;
        awaited.push(load);
      }
      if (awaited.length === 0) {
        say();
        return undefined;
      }
      const all = Promise.all(awaited.map(({ outcome }) => outcome));
      waiting = within(clock, deps.deadlineMs, all, closing.signal).then(() => {
        waiting = undefined;
        if (closed) return;
        for (const load of awaited) load.late = true; // means nothing for one that has ended
        say();
      });
      return waiting;
    },

    ...askFeeds({ state, clock, append, shelf, loads, isClosed: () => closed, decide, moment }),
    ...changeFeeds({
      ...deps,
      append,
      shelf,
      check() {
        if (closed) throw keeperClosed();
      },
      decide,
      follow,
    }),

    list() {
      decide();
      const now = clock.now();
      return Array.from(shelf.all(), (entry) => viewOf(entry, now));
    },

    close() {
      ended ??= end();
      return ended;
    },
  };
}
