import type { Definition } from '../definition.ts';
import { offeredWithFeeds } from './has-feeds.ts';

export const listContextFeeds: Definition = {
  name: 'list_context_feeds',
  description: 'Lists your feeds: where each comes from, its age, its tokens, and what is wrong with it.',
  idempotent: true,
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  useless: offeredWithFeeds('list_context_feeds'),
  run: async (_, { feeds }) => (await feeds()).list(),
};
