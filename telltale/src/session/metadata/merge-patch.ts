import { isPlainObject } from '../../conditions/own-property.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';

/** RFC 7396: objects are merged key by key, `null` removes a key, all else is replaced. Neither value is changed. */
export function mergePatch(target: Json | undefined, patch: JsonObject): JsonObject {
  const merged = new Map(isPlainObject(target) ? Object.entries(target as JsonObject) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, isPlainObject(value) ? mergePatch(merged.get(key), value as JsonObject) : value);
  }
  // Defines each key as its own, `__proto__` too.
  return Object.fromEntries(merged);
}
