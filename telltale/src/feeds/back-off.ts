import type { Feed } from './feed.ts';
import { FIRST_WAIT_MS, LAST_WAIT_INTERVALS, LAST_WAIT_MS, MIN_INTERVAL_MS } from './limits.ts';

/** How much longer than its step a wait may be, so that sessions that failed together do not come back together. */
const JITTER = 0.25;

/** Doublings past the longest wait: 2 ** 53 is no reason to overflow. */
const MAX_DOUBLINGS = 30;

/** How often a periodic feed is loaded. */
export const intervalOf = (feed: Feed): number =>
  Math.max(MIN_INTERVAL_MS, feed.interval?.ms ?? FIRST_WAIT_MS);

/**
 * How long a feed that failed `times` in a row is left alone: doubles from a second (or its interval) up to five minutes
 * (or ten intervals), never less than the former and never more than the latter. `random` is from 0 to 1.
 */
export function backOffMs(feed: Feed, times: number, random: number): number {
  const periodic = feed.type === 'periodic';
  const first = periodic ? intervalOf(feed) : FIRST_WAIT_MS;
  const last = periodic ? first * LAST_WAIT_INTERVALS : LAST_WAIT_MS;
  const step = Math.min(last / (1 + JITTER), first * 2 ** Math.min(MAX_DOUBLINGS, Math.max(0, times - 1)));
  return step * (1 + JITTER * random);
}
