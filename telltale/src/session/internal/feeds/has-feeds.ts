import { isOwnFeed } from '../../../feeds/feed.ts';
import type { AgentManifest } from '../../../manifest/schema/kinds.ts';

/** Agents without feeds need not read of the actions on them; they can call them all the same. */
export const hasFeeds = ({ context_feeds: feeds }: Pick<AgentManifest, 'context_feeds'>): boolean =>
  feeds.some(isOwnFeed);
