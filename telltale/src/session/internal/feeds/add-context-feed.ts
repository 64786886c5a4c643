import type { JsonObject } from '../../../kernel/json.ts';
import type { Definition } from '../definition.ts';
import { DEFINITION_PROPERTIES } from './definition-properties.ts';
import { hasFeeds } from './has-feeds.ts';

export const addContextFeed: Definition = {
  name: 'add_context_feed',
  description: 'Adds a feed: you see its value whenever it changes.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'A new name.' },
      ...DEFINITION_PROPERTIES,
    },
    required: ['id', 'source'],
    additionalProperties: false,
  },
  isTaught: hasFeeds,
  run: async (input, { feeds }) => (await feeds()).add(input as JsonObject),
};
