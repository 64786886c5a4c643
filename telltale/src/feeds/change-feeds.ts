import type { EventBody } from '../events/event.ts';
import type { JsonObject } from '../kernel/json.ts';
import { stopWith } from '../kernel/stop-with.ts';
import type { Feed } from './feed.ts';
import type { FeedDeps } from './feed-edges.ts';
import type { FeedEntry } from './feed-entry.ts';
import { feedExists, feedInUse, feedLimit, feedUnknown, loadStopped } from './feed-errors.ts';
import { checkPlace, usersOf } from './feed-graph.ts';
import { createEntry, type FeedShelf } from './feed-shelf.ts';
import type { FeedKeeper } from './keeper.ts';
import { MAX_ADDED_FEEDS } from './limits.ts';

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
export function changeFeeds({
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
