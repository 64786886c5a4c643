import type { JsonObject } from '../../../kernel/json.ts';

/** What a model may say of a feed; the manifest's own schema has the last word. */
export const DEFINITION_PROPERTIES: JsonObject = {
  type: { enum: ['on_demand', 'periodic'] },
  interval: {
    type: ['number', 'string'],
    description: 'Seconds, or "5m": loaded that often, as "type": "periodic".',
  },
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
