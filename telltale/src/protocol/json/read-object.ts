import { isJsonObject, type JsonObject } from '../../kernel/json.ts';
import { MAX_DEPTH, readTolerantJson } from './tolerant-json.ts';

/** Why a text gives no value: it is no JSON that can be read, or holds a number that no double can. */
export type Unreadable = 'unreadable' | 'not_finite';

/** What to write in place of a number that is not finite. */
export const LARGE_NUMBER = 'Write one below 1.8e308, or its digits as a string.';

/**
 * The object a body holds: `strict`, what JSON.parse made of it, else the tolerant reading. Unreadable where neither
 * gives an object, and where it is nested deeper than `MAX_DEPTH`: who walks the value later may not take any depth.
 */
export function readObject(text: string, strict: unknown): JsonObject | Unreadable {
  const value = strict === undefined ? readTolerantJson(text) : strict;
  if (!isJsonObject(value)) return 'unreadable';
  if (isPlain(value, MAX_DEPTH)) return value;
  // The tolerant reading bounds the depth itself.
  return strict !== undefined && isDeeperThan(value, MAX_DEPTH) ? 'unreadable' : 'not_finite';
}

/**
 * Whether every number in it is finite (JSON.parse takes 1e999 for Infinity), and nothing in it is nested deeper than that.
 * One walk for both: to count the brackets in the text, so that most values need none for the depth, is a search for
 * each of them. One function, since two that call each other are compiled into each other, level by level.
 */
function isPlain(value: unknown, levels: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (!isPlain(value[at], levels - 1)) return false;
    return true;
  }
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key], levels - 1)) return false;
  return true;
}

function isDeeperThan(value: object, levels: number): boolean {
  if (levels === 0) return true;
  for (const child of Object.values(value)) {
    if (typeof child === 'object' && child !== null && isDeeperThan(child, levels - 1)) return true;
  }
  return false;
}
