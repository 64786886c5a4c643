import { type ErrorJson, toRuntimeError } from '../kernel/runtime-error.ts';
import type { FeedDeps } from './feed-edges.ts';
import type { FeedEntry } from './feed-entry.ts';
import { createEntry, type FeedShelf } from './feed-shelf.ts';

/**
 * Takes over what the log knows: values and failures, feeds that the session has added, changed and removed. One whose
 * definition cannot be read any more (another version wrote it) is away; the log says why, once.
 */
export function takeOver({ feeds, state, read, append }: FeedDeps, shelf: FeedShelf): void {
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
