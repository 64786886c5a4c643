import type { ErrorJson } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import type { EventOf } from './event.ts';
import { FEED_NO_ROOM, type FeedNews, type FeedState } from './feed-event.ts';
import type { SessionState } from './state.ts';

/** Who changes metadata for a sub-agent: `child:NAME`. */
export const CHILD_WRITER = 'child:';

/** Who changes metadata and variables for a workflow run: `workflow:NAME`. */
export const WORKFLOW_WRITER = 'workflow:';

/** Who sets what the session did not: values kept from before, or set by others meanwhile. No update of its own. */
export const SEED_WRITER = 'seed';

const isOfChild = (by: string): boolean => by.startsWith(CHILD_WRITER);

const isOfWorkflow = (by: string): boolean => by.startsWith(WORKFLOW_WRITER);

export function changeMetadata(state: SessionState, event: EventOf<'metadata.changed'>): void {
  state.signs.unset = false;
  const isSeed = event.by === SEED_WRITER;
  if (!isSeed) state.metadataUpdates++;
  const fields = Object.entries(event.changes) as [string, { to: Json }][];
  // What was said already is an update, but no sign that anything goes on.
  if (fields.length > 0 && !isSeed && !isOfChild(event.by) && event.run === undefined) {
    state.signs.tags = true;
    state.signs.deeds = true;
    if (state.task !== undefined) state.task.fresh = true;
  }
  for (const [field, { to }] of fields) {
    // A field that is not set and has no default is absent; on the log that is null.
    if (to === null) delete state.metadata[field];
    else state.metadata[field] = to;
    if (!state.news.changed.includes(field)) state.news.changed.push(field);
  }
}

export function rejectMetadata(state: SessionState, event: EventOf<'metadata.rejected'>): void {
  if (isOfChild(event.by) || isOfWorkflow(event.by)) return; // no mistake of this model's
  state.signs.unset = false;
  state.signs.tags = true;
  state.news.rejected.push(...event.errors);
}

export function changeVariable(state: SessionState, event: EventOf<'variable.changed'>): void {
  state.signs.unset = false;
  if (event.by !== SEED_WRITER) state.variableUpdates++;
  const { name, to: value, class: kind, by } = event;
  const isNew = !state.variables.has(name) || !isSame(event.from, value);
  state.variables.set(name, { value, class: kind, by });
  if (!isNew) return; // as with metadata
  if (by === 'model') {
    state.signs.tags = true;
    state.signs.deeds = true;
    if (state.task !== undefined) state.task.fresh = true;
  }
  if (state.news.variables === undefined) state.news.variables = [name];
  else if (!state.news.variables.includes(name)) state.news.variables.push(name);
}

const isSame = (from: Json, to: Json): boolean =>
  from === to || (typeof from === 'object' && JSON.stringify(from) === JSON.stringify(to));

/** Ids of the parts of a prompt that the runtime makes itself begin so. */
export const BUILTIN_FEED = 'builtin:';

export function addFeed(state: SessionState, { id, feed, by }: EventOf<'feed.added'>): void {
  if (feed === undefined) {
    state.off = state.off.filter((off) => off !== id);
    return;
  }
  // Another definition is another feed: nothing that is known of the old one counts for it.
  state.feeds.set(id, { id, definition: feed, by });
}

export function removeFeed(state: SessionState, { id, declared }: EventOf<'feed.removed'>): void {
  if (id.startsWith(BUILTIN_FEED)) {
    if (!state.off.includes(id)) state.off.push(id);
    return;
  }
  if (declared === true) state.feeds.set(id, { id, removed: true });
  else state.feeds.delete(id);
  if (state.news.feeds !== undefined) state.news.feeds = state.news.feeds.filter((news) => news.id !== id);
}

export function updateFeed(state: SessionState, event: EventOf<'feed.updated'>): void {
  const { id, value, tokens, truncated, loaded_at: loadedAt, at, seq } = event;
  const cut = truncated === undefined ? {} : { truncated };
  const { failing: _, ...before } = known(state, id);
  const last = { value, tokens, ...cut, loadedAt, seq, turn: state.turn + 1 };
  const ageMs = Math.max(0, at - loadedAt);
  const shown = event.told === true ? tell(state, { id, kind: 'value', value, ageMs, ...cut }) : before.shown;
  state.feeds.set(id, { ...before, last, ...(shown === undefined ? {} : { shown }) });
}

export function failFeed(state: SessionState, event: EventOf<'feed.failed'>): void {
  const { id, error, times, at } = event;
  const before = known(state, id);
  const since = before.failing?.since ?? at;
  const ageMs = before.last === undefined ? {} : { ageMs: Math.max(0, at - before.last.loadedAt) };
  const shown = event.told === true ? tell(state, { id, kind: 'failed', error, ...ageMs }) : before.shown;
  const failing = { error, times, since };
  state.feeds.set(id, { ...before, failing, ...(shown === undefined ? {} : { shown }) });
}

const known = (state: SessionState, id: string): FeedState => state.feeds.get(id) ?? { id };

function tell(state: SessionState, news: FeedNews): NonNullable<FeedState['shown']> {
  const others = state.news.feeds?.filter(({ id }) => id !== news.id) ?? [];
  state.news.feeds = [...others, news];
  return { turn: state.turn + 1, news };
}

/**
 * What of feeds would be gone with the turns up to `through`: it is shown again in front of those that stay. What has no
 * room there says so, and is shown again once a turn has room for it.
 */
export function compactedFeeds(
  state: SessionState,
  { through, feed_tokens: room = Number.POSITIVE_INFINITY }: EventOf<'prompt.compacted'>,
): { readonly feeds?: readonly FeedNews[] } {
  const gone: FeedNews[] = [];
  let left = room;
  for (const feed of [...state.feeds.values()]) {
    const { id, shown, last } = feed;
    if (shown === undefined || shown.turn > through) continue;
    const tokens = shown.news.kind === 'value' ? (last?.tokens ?? 0) : 0;
    const news: FeedNews = tokens <= left ? shown.news : { id, kind: 'failed', error: noRoomAgain(tokens) };
    if (news === shown.news) left -= tokens;
    else state.feeds.set(id, { ...feed, shown: { ...shown, news } });
    gone.push(news);
  }
  return gone.length === 0 ? {} : { feeds: gone };
}

const noRoomAgain = (tokens: number): ErrorJson => ({
  code: FEED_NO_ROOM,
  message: `Its ${tokens} tokens have no room behind the summary.`,
  hint: 'Read it: call "context_feed" with "operation": "read".',
  retryable: true,
});
