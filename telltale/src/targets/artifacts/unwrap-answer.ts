import type { Json, JsonObject } from '../../kernel/json.ts';
import { err, ok, type Result } from '../../kernel/result.ts';

/** Wrappers inside one another: `{success, data: {decision}}`. */
const MAX_WRAPPERS = 4;

/**
 * What an artifact means: `{success, data}` and `{decision, …}` stand for what is in them. `{success: false}` is a
 * failure, and err says why; `{decision: false}` is false. Neither is ever the object that it was written as.
 */
export function unwrapAnswer(value: Json): Result<Json, string> {
  let inner = value;
  for (let depth = 0; depth < MAX_WRAPPERS; depth++) {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return ok(inner);
    const wrapper = inner as JsonObject;
    if (typeof wrapper.success === 'boolean') {
      if (!wrapper.success) return err(reasonIn(wrapper));
      const held = ['data', 'decision'].find((key) => Object.hasOwn(wrapper, key));
      inner = held === undefined ? true : (wrapper[held] ?? null);
    } else if (Object.hasOwn(wrapper, 'decision')) inner = wrapper.decision ?? null;
    else return ok(inner);
  }
  return err('its answer is wrapped too often');
}

function reasonIn({ error, message, reason }: JsonObject): string {
  const said = [error, message, reason].find((each) => typeof each === 'string' && each !== '');
  return said === undefined ? 'it answered {success: false}' : `it answered {success: false}: ${said}`;
}
