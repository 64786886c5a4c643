import { deepEqual } from '../conditions/deep-equal.ts';
import { FEED_NO_ROOM } from '../events/feed-event.ts';
import type { FeedDeps } from './feed-edges.ts';
import type { FeedEntry } from './feed-entry.ts';
import { feedDisabled, feedUnknown, keeperClosed } from './feed-errors.ts';
import type { FeedLoads } from './feed-loads.ts';
import type { FeedShelf } from './feed-shelf.ts';
import { isResting, isUsable, type Moment } from './freshness.ts';
import type { FeedKeeper } from './keeper.ts';
import { readingOf } from './list-feeds.ts';
import { putValue } from './say-news.ts';

interface AskDeps extends Pick<FeedDeps, 'state' | 'clock' | 'append'> {
  readonly shelf: FeedShelf;
  readonly loads: FeedLoads;
  isClosed(): boolean;
  /** Decides which feeds are on. */
  decide(): void;
  moment(turn: number): Moment;
}

/** What is asked of feeds within a turn: `$id`, and reading one. The log has every value that was given out. */
export function askFeeds(deps: AskDeps): Pick<FeedKeeper, 'value' | 'fetch' | 'read'> {
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
