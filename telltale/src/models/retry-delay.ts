import { retryAfterMs } from './retry-after.ts';

/** Failures in a row after which a model is given up. */
export const MAX_MODEL_TRIES = 6;

const FIRST_MS = 500;
const MAX_MS = 30_000;
/** A provider that asks for more is asked earlier than it wants. */
const MAX_RETRY_AFTER_MS = 300_000;

/**
 * How long to wait before a model is called again, or undefined where that is of no use. Exponential with full
 * jitter; never sooner than the provider asked for, and then spread a little, since it asks everyone for the same.
 * `failuresInARow` counts this one. `random` is from 0 to below 1. Pure.
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
