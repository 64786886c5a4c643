import { FEED_NO_ROOM, type FeedState } from '../events/feed-event.ts';
import { decideNews } from './decide-news.ts';
import type { FeedDeps } from './feed-edges.ts';
import type { FeedEntry } from './feed-entry.ts';
import { feedLate, feedNoRoom, noValueYet } from './feed-errors.ts';
import type { Moment } from './freshness.ts';

/** Codes of one row of failures that are remembered as told. */
const MAX_TOLD_CODES = 16;

type SayDeps = Pick<FeedDeps, 'append' | 'state' | 'deadlineMs' | 'shownTokens'>;

/**
 * Puts on the log what there is to say of these feeds before a turn: of the `injected` ones to the model, of the others
 * to the log alone. In their order; what has no room in the turn any more is left out, which the model is told once.
 */
export function sayNews(
  injected: readonly FeedEntry[],
  others: Iterable<FeedEntry>,
  moment: Moment,
  deps: SayDeps,
): void {
  let room = deps.shownTokens;
  for (const entry of injected) room -= say(entry, true, room, moment, deps);
  for (const entry of others) say(entry, false, room, moment, deps);
}

/** Returns the tokens that the turn shows of it. */
function say(entry: FeedEntry, injected: boolean, room: number, moment: Moment, deps: SayDeps): number {
  const { id } = entry.feed;
  const logged = deps.state.feeds.get(id);
  const word = decideNews(entry, logged, moment, injected);
  const before = entry.unseen;
  // It is decided, whichever way; only what is not shown, or had no room, is decided again.
  if (injected) entry.unseen = false;
  switch (word?.kind) {
    case undefined:
      return 0;
    case 'late': {
      const error = entry.feed.type === 'periodic' ? noValueYet() : feedLate(deps.deadlineMs);
      deps.append({ type: 'feed.failed', id, error, times: 1, ...(word.told ? { told: true } : {}) });
      if (entry.feed.type === 'periodic') entry.lateNoted = true;
      else if (entry.load !== undefined) entry.load.noted = true;
      return 0;
    }
    case 'failed':
      sayFailure(entry, word.told, deps);
      return 0;
    case 'value': {
      const tokens = word.told ? (entry.value?.tokens ?? 0) : 0;
      if (tokens <= room) {
        putValue(entry, word.told, !before, deps);
        if (word.told) entry.started = true;
        return tokens;
      }
      entry.unseen = before;
      if (!knowsNoRoom(logged))
        deps.append({
          type: 'feed.failed',
          id,
          error: feedNoRoom(tokens, deps.shownTokens),
          times: 1,
          told: true,
        });
      return 0;
    }
  }
}

function sayFailure(entry: FeedEntry, told: boolean, { append }: SayDeps): void {
  const { row, feed } = entry;
  if (row === undefined) return;
  const { error, times } = row;
  const { code } = error;
  append({
    type: 'feed.failed',
    id: feed.id,
    error: error.toJSON(),
    times,
    ...(told ? { told } : {}),
  });
  entry.row = { ...row, noted: code, told: told ? [...row.told, code].slice(-MAX_TOLD_CODES) : row.told };
  entry.asked = false;
}

const knowsNoRoom = (logged: FeedState | undefined): boolean => {
  const news = logged?.shown?.news;
  return news?.kind === 'failed' && news.error.code === FEED_NO_ROOM;
};

/** Puts its value on the log; `again`: one that was there in an earlier turn. */
export function putValue(
  { feed, value }: FeedEntry,
  told: boolean,
  again: boolean,
  { append }: Pick<FeedDeps, 'append'>,
): void {
  if (value === undefined) return;
  const cached = value.cached === true || (feed.type === 'on_demand' && again);
  append({
    type: 'feed.updated',
    id: feed.id,
    value: value.value,
    tokens: value.tokens,
    ...(value.truncated === undefined ? {} : { truncated: value.truncated }),
    ...(cached ? { cached } : {}),
    loaded_at: value.loadedAt,
    ...(told ? { told } : {}),
  });
}
