import type { JsonObject } from '../../../kernel/json.ts';
import type { Definition } from '../definition.ts';
import { DEFINITION_PROPERTIES } from './definition-properties.ts';
import { offeredWithFeeds } from './has-feeds.ts';

export const updateContextFeed: Definition = {
  name: 'update_context_feed',
  description: 'Changes a feed: what is given counts in place of what it had.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: { id: { type: 'string', description: 'The feed.' }, ...DEFINITION_PROPERTIES },
    required: ['id'],
    additionalProperties: false,
  },
  useless: offeredWithFeeds('update_context_feed'),
  run: async (input, { feeds }) => (await feeds()).update(input as JsonObject),
};
