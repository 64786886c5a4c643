import { isOwnFeed } from '../../../feeds/feed.ts';
import type { AgentManifest } from '../../../manifest/schema/kinds.ts';

/** Offered to agents that have feeds, and to those whose manifest names the action: others need not read of it. */
export const offeredWithFeeds =
  (action: string) =>
  ({
    context_feeds: feeds,
    internal_actions: { allowed_actions: allowed },
  }: AgentManifest): string | undefined =>
    feeds.some(isOwnFeed) || allowed?.some((name) => name === action)
      ? undefined
      : 'The agent has no "context_feeds", and its manifest does not name the action in "internal_actions: { allowed_actions }".';
