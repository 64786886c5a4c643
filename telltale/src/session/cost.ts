import type { SessionState } from '../events/state.ts';
import type { Usage } from '../events/turn-event.ts';
import { estimateTokens } from '../kernel/estimate-tokens.ts';
import type { Model, ModelRequest, ModelUsage } from '../models/model.ts';
import { costOf } from '../models/prices.ts';

/** Dollars for what a model used; 0 where nothing is known of its price. */
export const costWith = ({ price }: Model, usage: ModelUsage): number =>
  price === undefined ? 0 : costOf(price, usage);

/** What the last turn used, as far as it went: for a stream that was cut off, cancelled or killed, and gave no figures. */
export const countUsage = ({ turns }: SessionState, promptTokens: number): Usage => ({
  input: promptTokens,
  output: estimateTokens(turns.at(-1)?.output ?? ''),
  estimated: true,
});

/** The same of a request that is no turn: what was asked, and what was heard of the answer. */
export const estimateUsage = (
  { system, messages }: Pick<ModelRequest, 'system' | 'messages'>,
  heard: string,
): Usage => ({
  input: messages.reduce((sum, { text }) => sum + estimateTokens(text), estimateTokens(system)),
  output: estimateTokens(heard),
  estimated: true,
});
