import type { Definition } from '../definition.ts';
import { hasFeeds } from './has-feeds.ts';

export const listContextFeeds: Definition = {
  name: 'list_context_feeds',
  description: 'Lists your feeds with sources, ages and errors.',
  idempotent: true,
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  isTaught: hasFeeds,
  run: async (_, { feeds }) => (await feeds()).list(),
};
