import { BUILTIN_FEED } from '../events/fold-feeds.ts';
import { isOwnFeed } from '../feeds/feed.ts';
import type { LoadTokenizer } from '../kernel/tokenizer.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { PartLimits } from '../prompt/part-limits.ts';

/** The tokenizer is loaded by those who have something to cut. */
export async function partLimitsOf(
  { context_feeds: feeds }: AgentManifest,
  tokenizer: LoadTokenizer,
): Promise<PartLimits | undefined> {
  const cut = feeds.flatMap((feed) =>
    isOwnFeed(feed) || feed.max_tokens === undefined
      ? []
      : [[feed.id.slice(BUILTIN_FEED.length), feed.max_tokens] as const],
  );
  return cut.length === 0 ? undefined : { tokenizer: await tokenizer(), maxTokens: Object.fromEntries(cut) };
}
