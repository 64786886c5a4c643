import { deepEqual } from '../expressions/values.ts';
import { FEED_NO_ROOM, type FeedState } from '../log/feed-event.ts';
import { type FeedDeps, type FeedEntry, isFresh, type Moment } from './feed.ts';
import { feedLate, feedNoRoom, noValueYet } from './feed-errors.ts';

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

/** What goes on the log of a feed before a turn. `told`: the turn shows it. */
export type FeedWord =
  | { readonly kind: 'value'; readonly told: boolean }
  | { readonly kind: 'failed'; readonly told: boolean }
  | { readonly kind: 'late'; readonly told: boolean };

/**
 * What there is to say of a feed before the turn of `moment`, one thing at most; undefined where nothing is. Of a feed
 * that is not shown (`injected` is false) only the log hears. `logged` is what the log knows of it. Pure.
 *
 * - A value is told where `inject` says so: in every turn; where it is not what the model was last shown; or once. It is
 *   also told where the model was last told of a failure: it has to learn that the feed is well again.
 * - A failure is told as `on_error` says: never (`omit`), once as it begins (`stale`), once an error (`show`). A value
 *   that came before it and was not shown yet goes first, with its age; the failure follows in the next turn.
 * - That it is late is said once a load, and not of one that fails anyway.
 */
export function decideNews(
  entry: FeedEntry,
  logged: FeedState | undefined,
  moment: Moment,
  injected: boolean,
): FeedWord | undefined {
  const { value, row } = entry;
  if (injected && isToTell(entry, logged, moment)) return { kind: 'value', told: true };
  if (row !== undefined) return failure(entry, injected || entry.asked);
  if (injected && isLate(entry)) return { kind: 'late', told: entry.feed.on_error !== 'omit' };
  if (value !== undefined && isCurrent(entry, moment) && isNewToLog(entry, logged, injected))
    return { kind: 'value', told: false };
  return undefined;
}

/** Of an on-demand feed only what counts in this turn; of a periodic one the last value, however old. */
const isCurrent = (entry: FeedEntry, moment: Moment): boolean =>
  entry.feed.type === 'periodic' || isFresh(entry, moment);

function isToTell(entry: FeedEntry, logged: FeedState | undefined, moment: Moment): boolean {
  const { feed, value, unseen, row, started } = entry;
  if (value === undefined || !isCurrent(entry, moment)) return false;
  if (row !== undefined) return unseen && feed.inject !== 'reference' && differs(entry, logged);
  switch (feed.inject) {
    case 'reference':
      return false;
    case 'start':
      return !started;
    case 'each_turn':
      return logged?.shown?.turn !== moment.turn || differs(entry, logged);
    case 'on_change':
      return differs(entry, logged);
  }
}

/** Whether the value is not what the model was last shown. Compares only where a value came since it last was. */
function differs({ value, unseen }: FeedEntry, logged: FeedState | undefined): boolean {
  const news = logged?.shown?.news;
  if (news === undefined || news.kind === 'failed') return true;
  return unseen && !deepEqual(news.value, value?.value);
}

function failure({ feed, row }: FeedEntry, mayTell: boolean): FeedWord | undefined {
  if (row === undefined || row.noted === row.error.code) return undefined;
  if (!mayTell || feed.on_error === 'omit') return { kind: 'failed', told: false };
  const first = feed.on_error === 'stale' ? row.noted === undefined : !row.told.includes(row.error.code);
  return { kind: 'failed', told: first };
}

function isLate({ feed, load, value, lateNoted }: FeedEntry): boolean {
  if (feed.type === 'periodic') return value === undefined && !lateNoted;
  return load?.late === true && !load.noted;
}

/** Whether the log has another value, or still says that the feed fails. */
function isNewToLog(entry: FeedEntry, logged: FeedState | undefined, injected: boolean): boolean {
  if (injected && !entry.unseen) return false;
  if (logged?.last === undefined) return true;
  if (logged.failing !== undefined && logged.failing.error.code !== FEED_NO_ROOM) return true;
  return !deepEqual(logged.last.value, entry.value?.value);
}
