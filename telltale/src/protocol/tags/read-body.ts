import type { JsonObject } from '../../kernel/json.ts';
import { MAX_DEPTH, readTolerantJson } from './tolerant-json.ts';

export interface ReadBody {
  readonly value: JsonObject;
  readonly repaired: boolean;
}

/**
 * The object a body holds: `strict`, what JSON.parse made of it, else the tolerant reading. Undefined where neither
 * gives an object, and where it is nested deeper than `MAX_DEPTH`: who walks the value later may not take any depth.
 */
export function readBody(text: string, strict: unknown): ReadBody | undefined {
  const repaired = strict === undefined;
  const value = repaired ? readTolerantJson(text) : strict;
  if (!isObject(value) || (!repaired && isTooDeep(value, text.length))) return undefined;
  return { value, repaired };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Every level takes two brackets, so most bodies are too short to be too deep. */
function isTooDeep(value: JsonObject, length: number): boolean {
  return length > 2 * MAX_DEPTH && isDeeperThan(value, MAX_DEPTH);
}

function isDeeperThan(value: object, levels: number): boolean {
  if (levels === 0) return true;
  for (const key in value) {
    const child: unknown = value[key as never];
    if (typeof child === 'object' && child !== null && isDeeperThan(child, levels - 1)) return true;
  }
  return false;
}
