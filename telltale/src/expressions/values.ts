import type { Json } from '../lib/json.ts';

/** A value inside a longer string: strings as they are, anything else as compact JSON. */
export const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

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

/**
 * Whether `value` is an object as JSON has them: not a list, and with no prototype but a root one. Instances of
 * classes are no data, and nothing here ever reads a property that is not an object's own.
 */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The own property `key`, or undefined: `constructor` and `__proto__` are names like any other. */
export function ownProperty(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** One step into a value: an own key of an object or an index of a list; undefined where there is none. */
export function step(value: unknown, segment: string | number): unknown {
  if (typeof segment === 'number') return Array.isArray(value) ? value[segment] : undefined;
  return isPlainObject(value) ? ownProperty(value, segment) : undefined;
}

/** The value at `path`, or undefined where some step of it leads nowhere. */
export function readPath(value: unknown, path: readonly (string | number)[]): unknown {
  let at = value;
  for (const segment of path) {
    at = step(at, segment);
    if (at === undefined) return undefined;
  }
  return at;
}
