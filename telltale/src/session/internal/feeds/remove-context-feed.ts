import type { Definition } from '../definition.ts';
import { hasFeeds } from './has-feeds.ts';

export const removeContextFeed: Definition = {
  name: 'remove_context_feed',
  description: 'Removes a feed.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: { id: { type: 'string' } },
    required: ['id'],
    additionalProperties: false,
  },
  isTaught: hasFeeds,
  run: async ({ id }, { feeds }) => (await feeds()).remove(String(id)),
};
