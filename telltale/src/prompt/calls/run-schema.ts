import { ACTION_MODES, ON_ERROR } from '../../kernel/action-envelope.ts';
import type { JsonObject } from '../../kernel/json.ts';

/** How to run a call, as JSON Schema: what stands under `_run`, and in a step's tool calls beside `input`. */
export const RUN_PROPERTIES: JsonObject = {
  mode: { type: 'string', enum: [...ACTION_MODES], description: 'async if absent.' },
  id: { type: 'string', description: 'Letters, digits, _ and -; unique in the session.' },
  depends_on: {
    type: 'array',
    items: { type: 'string' },
    description: 'Ids of calls that must have succeeded first.',
  },
  output_key: { type: 'string', description: 'A name for its result.' },
  timeout: { type: 'number', description: 'Seconds for each try.' },
  retry: { type: 'integer', minimum: 0, description: 'Further tries after a failure.' },
  on_error: { type: 'string', enum: [...ON_ERROR] },
  if: { type: 'string', description: 'A CEL test; where it does not hold the call is skipped.' },
  compensate: { type: 'object', description: 'What undoes it: {"name": "…", "parameters": {…}}.' },
  template: { type: 'string', description: 'An action template.' },
  literal: { type: 'boolean', description: 'true: nothing in the input is replaced.' },
};
