import type { JsonObject } from '../../kernel/json.ts';

/** A call without an operation gets, which is the default, unless it has a value to set. */
export const getOrSet = (input: JsonObject): JsonObject =>
  Object.hasOwn(input, 'value') ? { operation: 'set', ...input } : input;
