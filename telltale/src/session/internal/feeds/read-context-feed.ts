import type { Definition } from '../definition.ts';
import { offeredWithFeeds } from './has-feeds.ts';

export const readContextFeed: Definition = {
  name: 'read_context_feed',
  description: 'The value of a feed at this moment.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'The feed.' },
      refresh: { type: 'boolean', description: 'true: from its source, however fresh the last value is.' },
    },
    required: ['id'],
    additionalProperties: false,
  },
  useless: offeredWithFeeds('read_context_feed'),
  run: async ({ id, refresh }, { feeds }, _own, signal) =>
    (await feeds()).read(String(id), refresh === true, signal),
};
