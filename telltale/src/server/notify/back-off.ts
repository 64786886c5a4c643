import { parseHttpDate } from '../../kernel/http-date.ts';

/** Pauses before the second try and on: about four hours in all. */
const PAUSES_MS = [5_000, 30_000, 2 * 60_000, 10 * 60_000, 30 * 60_000, 60 * 60_000, 2 * 60 * 60_000];

/** After that many it is given up. */
export const MAX_TRIES = PAUSES_MS.length + 1;
/** A receiver may ask for a longer pause, up to that. */
const MAX_PAUSE_MS = 6 * 60 * 60_000;
/** What pauses are off by, either way: many that failed together do not come back together. */
const JITTER = 0.2;

/** How long to wait after `tries`; undefined where it is given up. `random` is of [0, 1). */
export function pauseAfter(tries: number, random: number, askedMs = 0): number | undefined {
  const pause = PAUSES_MS[tries - 1];
  if (pause === undefined) return undefined;
  const own = pause * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(own, Math.min(askedMs, MAX_PAUSE_MS)));
}

/** Of the header `retry-after`: seconds, or a date. */
export function retryAfterMs(header: string | null, now: number): number {
  if (header === null) return 0;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1_000 : parseHttpDate(header) - now;
  return ms > 0 ? ms : 0;
}
