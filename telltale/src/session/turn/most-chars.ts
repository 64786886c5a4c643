import type { SessionContext } from '../context.ts';

/** What a turn may say. The largest answer that a provider gives is an eighth of that. */
const MAX_TURN_CHARS = 4 * 1024 * 1024;

/** A turn that may begin may also end, with a long answer, however little is left. */
const ANSWER_CHARS = 64 * 1024;

/** Few tokens are longer, so that no turn is cut which its provider would count as within the limit. */
const LONG_TOKEN = 8;

/** How many characters the next turn may have: no more than a turn may, and than what is left of the limit of tokens. */
export function mostChars({ manifest: { limits }, state: { totals } }: SessionContext): number {
  if (limits.tokens === undefined) return MAX_TURN_CHARS;
  const left = limits.tokens - totals.input - totals.output;
  return Math.min(MAX_TURN_CHARS, Math.max(ANSWER_CHARS, left * LONG_TOKEN));
}
