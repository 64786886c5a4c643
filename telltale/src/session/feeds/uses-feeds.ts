import { isOwnFeed } from '../../feeds/feed.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';

/** Whether an agent has feeds of its own, or may have. */
export const usesFeeds = ({ context_feeds: feeds, internal_actions: internal }: AgentManifest): boolean =>
  feeds.some(isOwnFeed) ||
  (internal.enabled && internal.allowed_actions?.some((name) => name.includes('_context_feed')) === true);

/** Whether something has to be looked at before each turn. */
export const staysFresh = (manifest: AgentManifest): boolean =>
  manifest.context_feeds.length > 0 || manifest.memory?.graph !== undefined || usesFeeds(manifest);

export function noFeeds(): never {
  throw new RuntimeError('not_permitted', 'The agent has no feeds, and may add none.', {
    hint: 'The manifest has them under "context_feeds", or names add_context_feed in "internal_actions: { allowed_actions }".',
  });
}

export function noMemory(): never {
  throw new RuntimeError('not_permitted', 'The agent has no knowledge graph.', {
    hint: 'The manifest says which folder it is of: "memory: { graph: FOLDER }".',
  });
}
