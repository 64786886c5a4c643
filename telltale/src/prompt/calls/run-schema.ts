import type { JsonObject } from '../../kernel/json.ts';
import type { Taught } from '../taught.ts';

/** What a step's tool call has beside `input`: how to run the call. The system prompt explains the fields. */
export const runProperties = ({ tests, undo, templates }: Taught): JsonObject => ({
  mode: { type: 'string', enum: ['background', 'sync', 'fire_and_forget'] },
  id: { type: 'string' },
  depends_on: { type: 'array', items: { type: 'string' } },
  timeout: { type: 'number' },
  retry: { type: 'integer' },
  ...(tests ? { if: { type: 'string' } } : {}),
  ...(undo ? { compensate: { type: 'object' } } : {}),
  ...(templates ? { template: { type: 'string' } } : {}),
  literal: { type: 'boolean' },
});
