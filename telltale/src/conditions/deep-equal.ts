import { isPlainObject } from './own-property.ts';

/** Values nested deeper are never equal: metadata is at most 8 deep, and recursion must end. */
const MAX_EQUAL_DEPTH = 64;

/** Whether two JSON values are the same: by value, without any conversion; the order of keys does not matter. */
export function deepEqual(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true;
  if (depth === MAX_EQUAL_DEPTH) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => deepEqual(item, b[i], depth + 1));
  }
  if (!isPlainObject(a) || !isPlainObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && deepEqual(a[key], b[key], depth + 1));
}
