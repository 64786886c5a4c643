import type { JsonObject } from '../../kernel/json.ts';

/** A call without an operation sets what it brings a value for, and else gets it. */
export const getOrSet = (input: JsonObject): JsonObject => ({
  operation: Object.hasOwn(input, 'value') ? 'set' : 'get',
  ...input,
});
