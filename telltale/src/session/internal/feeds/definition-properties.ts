import type { JsonObject } from '../../../kernel/json.ts';

/** What a model may say of a feed; the manifest's own schema has the last word. */
export const DEFINITION_PROPERTIES: JsonObject = {
  type: { enum: ['on_demand', 'periodic'] },
  interval: { type: ['number', 'string'], description: 'Seconds, or "5m".' },
  source: {
    type: 'object',
    description:
      '{"type": "tool" | "relic" | "llm" | "mcp" | "agent" | "file" | "repo" | "http" | "metadata", "name": "…", "action": "…", "params": {}} or {"type": "internal", "action": "system_clock" | "random" | "env" | "metadata" | "history" | "metrics" | "session_stats" | "debug_context"}',
  },
  cache_ttl: { type: ['number', 'string'], description: 'How long a value counts as fresh.' },
  max_tokens: { type: 'integer', minimum: 1 },
  enabled: { type: ['boolean', 'string'], description: 'false: not loaded.' },
  transform: {
    type: 'array',
    items: { type: 'object' },
    description: 'A chain of {"jsonpath"}, {"cel"}, {"head"}, {"tail"}, {"lines"}, {"template"}.',
  },
  refs: { type: 'array', items: { type: 'string' }, description: 'Feeds that are loaded first.' },
  inject: {
    enum: ['start', 'each_turn', 'on_change', 'reference'],
    description: 'When you see it; reference: only where $ID names it.',
  },
  on_error: { enum: ['omit', 'stale', 'show'] },
};

/**
 * What the prompt tells of a definition, once for all actions on feeds: the fields that a model needs. The others can be
 * given, too.
 */
export const SHOWN_DEFINITION: JsonObject = {
  source: {
    type: 'object',
    description:
      '{"type": "tool" | "relic" | "agent" | "file" | "repo" | "http", "name": "…", "params": {}} or {"type": "internal", "action": "system_clock" | "history" | "metrics" | "session_stats"}',
  },
  interval: { type: 'number', description: 'Seconds, for "type": "periodic".' },
  type: { enum: ['on_demand', 'periodic'] },
};

/** The same where add_context_feed has told of them. */
export const SHOWN_CHANGES: JsonObject = {
  source: { type: 'object' },
  interval: { type: 'number' },
  type: { type: 'string' },
};
