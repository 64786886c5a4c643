import { parseHttpDate } from '../lib/dates.ts';
import type { RuntimeError } from '../lib/errors.ts';

/** A model is given up after this many failures in a row. */
export const MAX_MODEL_TRIES = 6;

const FIRST_MS = 500;
const MAX_MS = 30_000;
/** If a provider asks for more, it is asked again earlier than it wants. */
const MAX_RETRY_AFTER_MS = 300_000;

/**
 * How long to wait before the next attempt, or undefined if another one is useless. Exponential with full jitter, but
 * never earlier than the provider asked for. That delay gets some jitter, too, because all clients get the same one.
 * `failuresInARow` includes this one. `random` is from 0 to below 1. Pure.
 */
export function nextDelay(
  failuresInARow: number,
  error: { readonly retryable: boolean },
  random: number,
): number | undefined {
  if (!error.retryable || failuresInARow >= MAX_MODEL_TRIES) return undefined;
  const ceiling = Math.min(MAX_MS, FIRST_MS * 2 ** (Math.max(1, failuresInARow) - 1));
  const asked = retryAfterMs(error);
  const floor = asked === undefined ? 0 : Math.min(asked, MAX_RETRY_AFTER_MS) + random * FIRST_MS;
  return Math.max(random * ceiling, floor);
}

/** Attaches the delay that a provider asked for to an error. */
export function withRetryAfter<E extends RuntimeError>(error: E, ms: number | undefined): E {
  return ms === undefined ? error : Object.assign(error, { retryAfterMs: ms });
}

/** The delay that the provider asked for, if any. */
export function retryAfterMs(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !Object.hasOwn(error, 'retryAfterMs')) return undefined;
  const { retryAfterMs: ms } = error as { readonly retryAfterMs: unknown };
  return typeof ms === 'number' && ms >= 0 ? ms : undefined;
}

/**
 * Milliseconds from `retry-after-ms` or `retry-after`, which is a number of seconds or an HTTP date. Undefined if there
 * is neither, or neither is readable. A past date is 0. Names of headers are in lower case.
 */
export function readRetryAfter(
  headers: Readonly<Record<string, string | undefined>>,
  nowMs: number,
): number | undefined {
  const ms = number(headers['retry-after-ms']);
  if (ms !== undefined) return ms;
  const written = headers['retry-after'];
  const seconds = number(written);
  if (seconds !== undefined) return seconds * 1000;
  const date = written === undefined ? Number.NaN : parseHttpDate(written);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function number(text: string | undefined): number | undefined {
  if (text === undefined || !/^\s*\d+(?:\.\d+)?\s*$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}
