import { feedText } from '../../kernel/feed-text.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { LoadTokenizer } from '../../kernel/tokenizer.ts';
import type { Feed } from '../feed.ts';
import { cutText } from './cut-text.ts';
import { transformValue } from './transform-value.ts';

/** What a feed may take of the prompt where it does not say. */
export const DEFAULT_MAX_TOKENS = 4_000;

export interface PreparedValue {
  /** The text that is left, where it was cut. */
  readonly value: Json;
  readonly tokens: number;
  readonly truncated?: number;
}

export interface PrepareDeps {
  readonly tokenizer: LoadTokenizer;
  /** What CEL sees beside `value`; asked for only where there is CEL. */
  readonly context: () => JsonObject;
}

/** What a source gave, as it is shown and as `$id` stands for it: transformed, counted and cut. */
export async function prepareValue(
  feed: Pick<Feed, 'id' | 'transform' | 'max_tokens' | 'inject'>,
  raw: Json,
  { tokenizer, context }: PrepareDeps,
): Promise<PreparedValue> {
  const value = await transformValue(feed, raw, context);
  const text = feedText(value);
  const counter = await tokenizer();
  const maxTokens = feed.max_tokens ?? (feed.inject === 'reference' ? undefined : DEFAULT_MAX_TOKENS);
  if (maxTokens === undefined) return { value, tokens: counter.count(text) };
  const { text: kept, tokens, truncated } = await cutText(text, maxTokens, counter);
  return truncated === undefined ? { value, tokens } : { value: kept, tokens, truncated };
}
