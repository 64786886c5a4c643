import { estimateTokens } from '../lib/tokens.ts';
import type { Usage } from '../log/session-events.ts';
import type { SessionState } from '../log/state.ts';
import type { Model, ModelRequest, ModelUsage } from '../models/model.ts';
import { costOf } from '../models/prices.ts';

/** What is more than every limit, and can be added up and put on a log. */
const TOO_MUCH_USD = 1e15;

/**
 * Dollars for what a model used; 0 where nothing is known of its price. A price of somebody's own may change to what is
 * none: what then comes out as no number counts as too much, since NaN is less than every limit.
 */
export function costWith({ price }: Model, usage: ModelUsage): number {
  if (price === undefined) return 0;
  const dollars = costOf(price, usage);
  return dollars >= 0 && dollars <= TOO_MUCH_USD ? dollars : TOO_MUCH_USD;
}

/**
 * What the last turn used, as far as it went: for a stream that was cut off, cancelled or killed, and gave no figures.
 * `unwritten`: the weight of what was heard of it and is not on the log, held back or reasoned.
 */
export const countUsage = ({ turns }: SessionState, promptTokens: number, unwritten = 0): Usage => ({
  input: promptTokens,
  output: estimateTokens(turns.at(-1)?.output ?? '') + Math.ceil(unwritten),
  estimated: true,
});

/** The same of a request that is no turn: what was asked, and what was heard of the answer. */
export const estimateUsage = (
  { system, messages }: Pick<ModelRequest, 'system' | 'messages'>,
  heard: string,
  reasoned: number,
): Usage => ({
  input: messages.reduce((sum, { text }) => sum + estimateTokens(text), estimateTokens(system)),
  output: estimateTokens(heard) + Math.ceil(reasoned),
  estimated: true,
});
