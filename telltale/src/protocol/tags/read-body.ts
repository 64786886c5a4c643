import type { JsonObject } from '../../kernel/json.ts';
import { MAX_DEPTH, readTolerantJson } from './tolerant-json.ts';

export interface ReadBody {
  readonly value: JsonObject;
  readonly repaired: boolean;
}

/**
 * The object a body holds: strict JSON, else the tolerant reading. Undefined where neither gives an object, and
 * where strict JSON is nested deeper than `MAX_DEPTH`: JSON.parse takes any depth, who walks the value may not.
 */
export function readBody(raw: string, deepest: number): ReadBody | undefined {
  let value: unknown;
  let repaired = false;
  try {
    value = JSON.parse(raw);
  } catch {
    value = readTolerantJson(raw);
    repaired = true;
  }
  if (!isObject(value) || (!repaired && deepest > MAX_DEPTH)) return undefined;
  return { value, repaired };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
