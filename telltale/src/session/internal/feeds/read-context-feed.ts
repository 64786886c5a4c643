import type { Definition } from '../definition.ts';
import { hasFeeds } from './has-feeds.ts';

export const readContextFeed: Definition = {
  name: 'read_context_feed',
  description: 'Shows the current value of a feed.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      refresh: { type: 'boolean', description: 'Load it again.' },
    },
    required: ['id'],
    additionalProperties: false,
  },
  isTaught: hasFeeds,
  run: async ({ id, refresh }, { feeds }, _own, signal) =>
    (await feeds()).read(String(id), refresh === true, signal),
};
