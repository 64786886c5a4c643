import { holdsInfinity } from '../../kernel/holds-infinity.ts';
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
  if (strict !== undefined && isTooDeep(value, text)) return 'unreadable'; // the tolerant reading bounds it itself
  return holdsInfinity(value) ? 'not_finite' : value;
}

/**
 * Every level takes an opening bracket, so where there are few of them, as in nearly every body, nothing has to be
 * walked. (A walk meets objects of every shape, which no engine makes fast.)
 */
function isTooDeep(value: JsonObject, text: string): boolean {
  return text.length > 2 * MAX_DEPTH && hasManyBrackets(text) && isDeeperThan(value, MAX_DEPTH);
}

function hasManyBrackets(text: string): boolean {
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let i = text.indexOf(bracket); i >= 0; i = text.indexOf(bracket, i + 1)) {
      if (++count > MAX_DEPTH) return true;
    }
  }
  return false;
}

function isDeeperThan(value: object, levels: number): boolean {
  if (levels === 0) return true;
  for (const child of Object.values(value)) {
    if (typeof child === 'object' && child !== null && isDeeperThan(child, levels - 1)) return true;
  }
  return false;
}
