import type { ModelPrice, ModelUsage } from './model.ts';

/** Known facts about a model, in dollars per million tokens. */
export interface ModelFacts {
  readonly price: ModelPrice;
}

const PER_MILLION = 1_000_000;

/** Writing to Anthropic's cache for five minutes costs a quarter more than input. */
const claude = (input: number, output: number, cached: number): ModelFacts => ({
  price: { input, output, cached, written: input * 1.25 },
});
const known = (input: number, output: number, cached: number): ModelFacts => ({
  price: { input, output, cached },
});

/** List prices of October 2026 by `provider/model`, without dates. Long prompts may cost more. */
const FACTS: ReadonlyMap<string, ModelFacts> = new Map([
  ['anthropic/claude-fable-5-1', claude(10, 50, 0.25)],
  ['anthropic/claude-fable-5', claude(10, 50, 1)],
  ['anthropic/claude-opus-5-5', claude(4, 20, 0.2)],
  ['anthropic/claude-opus-5', claude(5, 25, 0.5)],
  ['anthropic/claude-opus-4-8', claude(5, 25, 0.5)],
  ['anthropic/claude-opus-4-7', claude(5, 25, 0.5)],
  ['anthropic/claude-opus-4-6', claude(5, 25, 0.5)],
  ['anthropic/claude-opus-4-5', claude(5, 25, 0.5)],
  ['anthropic/claude-opus-4-1', claude(15, 75, 1.5)],
  ['anthropic/claude-opus-4-0', claude(15, 75, 1.5)],
  ['anthropic/claude-opus-4', claude(15, 75, 1.5)],
  ['anthropic/claude-sonnet-5-5', claude(2, 10, 0.2)],
  ['anthropic/claude-sonnet-5', claude(2, 10, 0.2)],
  ['anthropic/claude-sonnet-4-6', claude(3, 15, 0.3)],
  ['anthropic/claude-sonnet-4-5', claude(3, 15, 0.3)],
  ['anthropic/claude-sonnet-4-0', claude(3, 15, 0.3)],
  ['anthropic/claude-sonnet-4', claude(3, 15, 0.3)],
  ['anthropic/claude-haiku-4-5', claude(1, 5, 0.1)],
  ['openai/gpt-6-astra', known(10, 50, 1)],
  ['openai/gpt-6-sol', known(2, 10, 0.2)],
  ['openai/gpt-6-luna', known(0.1, 0.5, 0.01)],
  ['openai/gpt-5.5', known(5, 30, 0.5)],
  ['openai/gpt-5.4', known(2.5, 15, 0.25)],
  ['openai/gpt-5.4-mini', known(0.75, 4.5, 0.075)],
  ['openai/gpt-5.2', known(1.75, 14, 0.175)],
  ['openai/gpt-5.1', known(1.25, 10, 0.125)],
  ['openai/gpt-5', known(1.25, 10, 0.125)],
  ['openai/gpt-5-codex', known(1.25, 10, 0.125)],
  ['openai/gpt-5-mini', known(0.25, 2, 0.025)],
  ['openai/gpt-5-nano', known(0.05, 0.4, 0.005)],
  ['openai/gpt-4.1', known(2, 8, 0.5)],
  ['openai/gpt-4.1-mini', known(0.4, 1.6, 0.1)],
  ['openai/gpt-4.1-nano', known(0.1, 0.4, 0.025)],
  ['openai/gpt-4o', known(2.5, 10, 1.25)],
  ['openai/gpt-4o-mini', known(0.15, 0.6, 0.075)],
  ['google/gemini-3.5-flash', known(1.5, 9, 0.15)],
  ['google/gemini-3.1-pro', known(2, 12, 0.2)],
  ['google/gemini-3-pro', known(2, 12, 0.2)],
  ['google/gemini-3-flash', known(0.5, 3, 0.05)],
  ['google/gemini-2.5-pro', known(1.25, 10, 0.125)],
  ['google/gemini-2.5-flash', known(0.3, 2.5, 0.03)],
  ['google/gemini-2.5-flash-lite', known(0.1, 0.4, 0.01)],
]);

/** The models of a provider whose prices are known, as `provider/model`. */
export const knownModels = (provider: string): readonly string[] =>
  [...FACTS.keys()].filter((ref) => ref.startsWith(`${provider}/`));

/** Suffixes that do not make it another model: a date, or the number of a preview. */
const EDITION = /(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest|preview(?:-\d{2}-\d{2,4})?))+$/;

/** The facts about a model. A variant with another name is another model. */
export const modelFacts = (ref: string): ModelFacts | undefined =>
  FACTS.get(ref) ?? FACTS.get(ref.replace(EDITION, ''));

/**
 * The cost in dollars. `cached` and `written` are parts of the input. Without prices of their own, they cost as much as
 * input.
 */
export function costOf(price: ModelPrice, usage: ModelUsage): number {
  const { input, output, cached = 0, written = 0 } = usage;
  const plain = Math.max(0, input - cached - written);
  const dollars =
    plain * price.input +
    cached * (price.cached ?? price.input) +
    written * (price.written ?? price.input) +
    output * price.output;
  return dollars / PER_MILLION;
}
