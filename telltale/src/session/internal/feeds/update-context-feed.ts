import type { JsonObject } from '../../../kernel/json.ts';
import type { Definition } from '../definition.ts';
import { DEFINITION_PROPERTIES } from './definition-properties.ts';
import { hasFeeds } from './has-feeds.ts';

export const updateContextFeed: Definition = {
  name: 'update_context_feed',
  description: 'Changes these fields of a feed.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: { id: { type: 'string', description: 'Its id.' }, ...DEFINITION_PROPERTIES },
    required: ['id'],
    additionalProperties: false,
  },
  isTaught: hasFeeds,
  run: async (input, { feeds }) => (await feeds()).update(input as JsonObject),
};
