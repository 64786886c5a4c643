import { deepEqual } from '../expressions/values.ts';
import { within } from '../lib/clock.ts';
import { type ErrorJson, stopWith, toRuntimeError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { EventBody } from '../log/event.ts';
import { FEED_NO_ROOM } from '../log/feed-event.ts';
import type {
  Feed,
  FeedDeps,
  FeedEntry,
  FeedKeeper,
  FeedReading,
  FeedSource,
  FeedView,
  Load,
} from './feed.ts';
import { CLOSE_WAIT_MS, isDue, isResting, isUsable, MAX_ADDED_FEEDS, type Moment } from './feed.ts';
import {
  feedDisabled,
  feedExists,
  feedInUse,
  feedLimit,
  feedUnknown,
  keeperClosed,
  loadStopped,
} from './feed-errors.ts';
import { createFeedLoads, type FeedLoads, intervalOf } from './feed-loads.ts';
import { checkPlace, createEntry, createFeedShelf, type FeedShelf, usersOf } from './feed-table.ts';
import { putValue, sayNews } from './say-news.ts';

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

/**
 * Takes over what the log knows: values and failures, feeds that the session has added, changed and removed. One whose
 * definition cannot be read any more (another version wrote it) is away; the log says why, once.
 */
function takeOver({ feeds, state, read, append }: FeedDeps, shelf: FeedShelf): void {
  if (state.feeds.size === 0) return;
  const broken: { readonly id: string; readonly error: ErrorJson }[] = [];
  const entries: FeedEntry[] = [];
  const away: string[] = [];
  for (const feed of feeds) {
    const logged = state.feeds.get(feed.id);
    if (logged?.removed === true) away.push(feed.id);
    else if (logged !== undefined && logged.definition === undefined)
      entries.push(createEntry(feed, 'manifest', undefined, logged));
  }
  for (const logged of state.feeds.values()) {
    const { id, definition } = logged;
    if (definition === undefined) continue;
    try {
      entries.push(createEntry({ ...read(definition), id }, 'model', definition, logged));
    } catch (thrown) {
      broken.push({ id, error: toRuntimeError(thrown).toJSON() });
    }
  }
  shelf.take([...away, ...broken.map(({ id }) => id)]);
  shelf.put(entries);
  for (const { id, error } of broken)
    if (state.feeds.get(id)?.failing?.error.code !== error.code)
      append({ type: 'feed.failed', id, error, times: 1, told: true });
}

/**
 * When periodic feeds are loaded: every interval from the start of one load to that of the next, later where a load takes
 * longer or the source fails. While the session waits for somebody nothing is loaded and no timer runs.
 */
export interface PeriodicLoads {
  /** Loads it now, and again and again. */
  begin(entry: FeedEntry): void;
  /** Says that a load of it has ended, whoever began it: the next is one interval after its start. */
  settled(entry: FeedEntry, load: Load): void;
  end(entry: FeedEntry): void;
  /** The session goes on: what fell due while it waited is loaded now. */
  wake(): void;
}

type Deps = Pick<FeedDeps, 'clock' | 'state'> & { start(entry: FeedEntry): void };

function createPeriodicLoads({ clock, state, start }: Deps): PeriodicLoads {
  const asleep = new Set<FeedEntry>();

  const begin = (entry: FeedEntry) => {
    disarm(entry);
    if (state.idle || state.status !== 'running') asleep.add(entry);
    else loadNow(entry);
  };

  /** One that is loading is loaded again an interval after that: see `settled`. */
  const loadNow = (entry: FeedEntry) => {
    if (entry.load === undefined) start(entry);
  };

  return {
    begin,
    settled(entry, load) {
      if (!entry.enabled) return;
      disarm(entry);
      asleep.delete(entry);
      const due = entry.row?.retryAt ?? load.startedAt + intervalOf(entry.feed);
      entry.disarm = clock.after(due - clock.monotonic(), () => begin(entry));
    },
    end(entry) {
      disarm(entry);
      asleep.delete(entry);
    },
    wake() {
      if (asleep.size === 0) return;
      const due = [...asleep];
      asleep.clear();
      for (const entry of due) loadNow(entry);
    },
  };
}

function disarm(entry: FeedEntry): void {
  entry.disarm?.();
  entry.disarm = undefined;
}

interface AskDeps extends Pick<FeedDeps, 'state' | 'clock' | 'append'> {
  readonly shelf: FeedShelf;
  readonly loads: FeedLoads;
  isClosed(): boolean;
  /** Decides which feeds are on. */
  decide(): void;
  moment(turn: number): Moment;
}

/** What is asked of feeds within a turn: `$id`, and reading one. The log has every value that was given out. */
function askFeeds(deps: AskDeps): Pick<FeedKeeper, 'value' | 'fetch' | 'read'> {
  const { state, clock, shelf, loads, isClosed, decide, moment } = deps;

  /** A feed that can be asked; undefined where there is none, or it is switched off. */
  const open = (id: string): FeedEntry | undefined => {
    const entry = isClosed() ? undefined : shelf.find(id);
    if (entry?.test !== undefined) decide();
    return entry?.enabled === true ? entry : undefined;
  };

  const note = (entry: FeedEntry) => {
    const logged = state.feeds.get(entry.feed.id);
    const code = logged?.failing?.error.code;
    const isWell = code !== undefined && code !== FEED_NO_ROOM && entry.row === undefined;
    if (isWell || !deepEqual(logged?.last?.value, entry.value?.value)) putValue(entry, false, false, deps);
  };

  return {
    value(id) {
      const entry = open(id);
      if (entry?.value === undefined || !isUsable(entry, moment(state.turn))) return undefined;
      note(entry);
      return entry.value.value;
    },

    fetch(id, then) {
      const entry = open(id);
      if (entry === undefined) return false;
      const now = moment(state.turn);
      const usable = isUsable(entry, now);
      if (!usable) entry.asked = true;
      const isOver = usable || (entry.load === undefined && isResting(entry, now));
      const done = isOver ? Promise.resolve() : loads.want(entry, now.turn).outcome;
      void done.then(() => {
        if (!isClosed()) queueMicrotask(() => then(entry.row?.error));
      });
      return true;
    },

    async read(id, refresh, signal) {
      if (isClosed()) throw keeperClosed();
      const entry = open(id);
      if (entry === undefined)
        throw shelf.find(id) === undefined ? feedUnknown(id, shelf.ids()) : feedDisabled(id);
      const now = moment(state.turn);
      if (!refresh && entry.value !== undefined && isUsable(entry, now)) {
        note(entry);
        return readingOf(id, entry.value, now.now, true);
      }
      if (!refresh && entry.load === undefined && entry.row !== undefined && isResting(entry, now))
        throw entry.row.error;
      let outcome = await loads.read(entry, now.turn, refresh, signal);
      // It was under way already, and came from what sessions share.
      if (refresh && outcome.ok && outcome.value.cached === true && !isClosed())
        outcome = await loads.read(entry, now.turn, refresh, signal);
      if (isClosed()) throw keeperClosed();
      if (!outcome.ok) throw outcome.error;
      if (!entry.gone) note(entry);
      return readingOf(id, outcome.value, clock.now(), outcome.value.cached === true);
    },
  };
}

interface ChangeDeps extends Pick<FeedDeps, 'feeds' | 'written' | 'state'> {
  append(body: EventBody): void;
  readonly shelf: FeedShelf;
  /** Throws where nothing may be changed any more. */
  check(): void;
  /** Decides which feeds are on. */
  decide(): void;
  /** The entry has come, or is gone. */
  follow(entry: FeedEntry): void;
}

/** Feeds that come and go in the session. What is wrong is found before anything is written. */
function changeFeeds({
  feeds,
  written: asWritten,
  state,
  append,
  shelf,
  check,
  decide,
  follow,
}: ChangeDeps): Pick<FeedKeeper, 'add' | 'update' | 'remove' | 'definition'> {
  const declared = new Set(feeds.map(({ id }) => id));

  const drop = (entry: FeedEntry, why: string) => {
    entry.gone = true;
    follow(entry);
    if (entry.load !== undefined) stopWith(entry.load.controller, loadStopped(entry.feed.id, why));
  };

  const put = (feed: Feed, written: JsonObject, by: string) => {
    append({ type: 'feed.added', id: feed.id, feed: written, by });
    const entry = createEntry(feed, 'model', written, undefined);
    shelf.put([entry]);
    decide();
    follow(entry);
  };

  /** Another definition on the log that could not be read: it can be replaced and removed all the same. */
  const isUnreadable = (id: string) => state.feeds.get(id)?.definition !== undefined;

  return {
    add(feed, written, by) {
      check();
      if (shelf.find(feed.id) !== undefined) throw feedExists(feed.id);
      const added = shelf.ids().filter((id) => !declared.has(id)).length;
      if (added >= MAX_ADDED_FEEDS && !declared.has(feed.id)) throw feedLimit();
      checkPlace(feed, shelf.feeds());
      put(feed, written, by);
    },
    update(id, feed, written, by) {
      check();
      const before = shelf.find(id);
      if (before === undefined && !isUnreadable(id)) throw feedUnknown(id, shelf.ids());
      const named = { ...feed, id };
      checkPlace(named, shelf.feeds());
      if (before !== undefined) drop(before, 'it was defined anew');
      put(named, written, by);
    },
    remove(id, by) {
      check();
      const entry = shelf.find(id);
      if (entry === undefined && !isUnreadable(id)) throw feedUnknown(id, shelf.ids());
      const users = usersOf(shelf.graph(), id);
      if (users.length > 0) throw feedInUse(id, users);
      if (entry !== undefined) drop(entry, 'it was removed');
      append({ type: 'feed.removed', id, by, ...(declared.has(id) ? { declared: true } : {}) });
      shelf.take([id]);
    },
    definition(id) {
      const entry = shelf.find(id);
      if (entry === undefined) return state.feeds.get(id)?.definition;
      return entry.written ?? asWritten(entry.feed);
    },
  };
}

/** A feed at the time `now`, as lists show it. */
function viewOf({ feed, by, enabled, enabledError, value, row }: FeedEntry, now: number): FeedView {
  const error = row?.error.toJSON() ?? enabledError;
  return {
    id: feed.id,
    type: feed.type,
    source: sourceText(feed.source),
    inject: feed.inject,
    enabled,
    ...(feed.interval === undefined ? {} : { intervalMs: feed.interval.ms }),
    by,
    ...(value === undefined ? {} : { tokens: value.tokens, ageMs: Math.max(0, now - value.loadedAt) }),
    ...(error === undefined ? {} : { error }),
  };
}

/** `tool "git_log"`, `relic "log" query`, `internal system_clock`. */
export function sourceText(source: FeedSource): string {
  const named = 'name' in source ? source.name : undefined;
  const name = named === undefined ? '' : ` "${source.type === 'http' ? withoutSecrets(named) : named}"`;
  const action = 'action' in source && source.action !== undefined ? ` ${source.action}` : '';
  return source.type + name + action;
}

/** An address as far as it can hold no key: lists are read by models, too. */
function withoutSecrets(address: string): string {
  if (!URL.canParse(address)) return '…';
  const { protocol, host, pathname, search } = new URL(address);
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`;
}

/** A value at the time `now`, as a reader gets it. */
const readingOf = (
  id: string,
  value: NonNullable<FeedEntry['value']>,
  now: number,
  cached: boolean,
): FeedReading => ({
  id,
  value: value.value,
  tokens: value.tokens,
  ...(value.truncated === undefined ? {} : { truncated: value.truncated }),
  ageMs: Math.max(0, now - value.loadedAt),
  ...(cached ? { cached } : {}),
});
