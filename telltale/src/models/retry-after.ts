import { parseHttpDate } from '../kernel/http-date.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';

/** Gives an error the time a provider asked to be left alone. */
export function withRetryAfter<E extends RuntimeError>(error: E, ms: number | undefined): E {
  return ms === undefined ? error : Object.assign(error, { retryAfterMs: ms });
}

/** How long the provider asked to be left alone, if it said so. */
export function retryAfterMs(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !Object.hasOwn(error, 'retryAfterMs')) return undefined;
  const { retryAfterMs: ms } = error as { readonly retryAfterMs: unknown };
  return typeof ms === 'number' && ms >= 0 ? ms : undefined;
}

/**
 * Milliseconds from `retry-after-ms` or `retry-after`, which is a number of seconds or an HTTP date. Undefined where
 * there is neither, or nothing that can be read; a date that has passed is 0. Names of headers are in lower case.
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
