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
