import type { JsonObject } from '../../../kernel/json.ts';
import type { Definition } from '../definition.ts';
import { DEFINITION_PROPERTIES } from './definition-properties.ts';
import { offeredWithFeeds } from './has-feeds.ts';

export const addContextFeed: Definition = {
  name: 'add_context_feed',
  description:
    'Adds a feed: its value is kept fresh and shown to you whenever it changes, and $ID stands for it. Only sources that you may use anyway.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Its name, one that is not taken.' },
      ...DEFINITION_PROPERTIES,
    },
    required: ['id', 'source'],
    additionalProperties: false,
  },
  useless: offeredWithFeeds('add_context_feed'),
  run: async (input, { feeds }) => (await feeds()).add(input as JsonObject),
};
