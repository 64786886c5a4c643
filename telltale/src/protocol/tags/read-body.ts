import type { JsonObject } from '../../kernel/json.ts';
import { MAX_DEPTH, readTolerantJson } from './tolerant-json.ts';

export interface ReadBody {
  readonly value: JsonObject;
  readonly repaired: boolean;
}

/** The object a body holds: strict JSON, else the tolerant reading. Undefined where neither gives an object. */
export function readBody(raw: string): ReadBody | undefined {
  let value: unknown;
  let repaired = false;
  try {
    value = JSON.parse(raw);
  } catch {
    value = readTolerantJson(raw);
    repaired = true;
  }
  if (!isObject(value) || isTooDeep(value, raw)) return undefined;
  return { value, repaired };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSON.parse takes any depth; whoever walks the value after us may not. A text this short cannot be too deep. */
function isTooDeep(value: JsonObject, raw: string): boolean {
  if (raw.length <= MAX_DEPTH) return false;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= MAX_DEPTH) return true;
    const next: unknown[] = [];
    for (const node of level) {
      for (const child of Object.values(node as object))
        if (typeof child === 'object' && child !== null) next.push(child);
    }
    level = next;
  }
  return false;
}
