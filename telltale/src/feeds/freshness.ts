import type { FeedEntry } from './feed-entry.ts';

/** The moment that freshness is asked about: the turn, the machine's time, and the monotonic one. */
export interface Moment {
  readonly turn: number;
  readonly now: number;
  readonly monotonic: number;
}

/**
 * Whether a value still counts: throughout the turn it was loaded for, so that `$id` stands for what the model was
 * shown, and for `cache_ttl` from when its source gave it. One from the future (the machine's time was set back) does not.
 */
export function isFresh({ feed, value }: FeedEntry, { turn, now }: Moment): boolean {
  if (value === undefined) return false;
  if (value.turn >= turn) return true;
  const age = now - value.loadedAt;
  return feed.cache_ttl !== undefined && age >= 0 && age < feed.cache_ttl.ms;
}

/** Whether it failed so lately that it is left alone. */
export const isResting = ({ row }: FeedEntry, { monotonic }: Moment): boolean =>
  row !== undefined && monotonic < row.retryAt;

/** Whether an on-demand feed has to be loaded before the turn of `moment`. */
export const isDue = (entry: FeedEntry, moment: Moment): boolean =>
  entry.feed.type === 'on_demand' &&
  entry.load === undefined &&
  !isFresh(entry, moment) &&
  !isResting(entry, moment);

/**
 * Whether `$id` can stand for its value as it is. Of a periodic feed it always can, once there is one; of one that fails
 * only where `on_error` lets an old value stand.
 */
export function isUsable(entry: FeedEntry, moment: Moment): boolean {
  const { feed, value, row } = entry;
  if (value === undefined) return false;
  if (feed.type === 'periodic') return row === undefined || feed.on_error === 'stale';
  return isFresh(entry, moment) || (feed.on_error === 'stale' && isResting(entry, moment));
}

/** Whether another feed can be made of its value as it is: one that fails does not stand for its last value. */
export const isReferable = (entry: FeedEntry, moment: Moment): boolean =>
  entry.feed.type === 'periodic'
    ? entry.value !== undefined && entry.row === undefined
    : isFresh(entry, moment);
