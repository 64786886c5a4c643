/** What JSON can hold. Values that cross a boundary (log, API, sandbox) are of this type. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** Whether a value that came out of JSON is an object: neither null nor a list. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Calls within calls; what is nested deeper is walked with a list. */
const MAX_CALLS = 500;

/**
 * Whether a value that was read from JSON holds a number that is not finite. JSON.parse takes 1e999 for Infinity, which is
 * written as null again: what is on a log would not be what was done. The value is walked rather than its text searched:
 * there are fewer values in a body than characters.
 */
export const holdsInfinity = (value: unknown): boolean => holds(value, 0);

function holds(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return false;
  if (depth === MAX_CALLS) return holdsDeep(value);
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (holds(value[at], depth + 1)) return true;
    return false;
  }
  for (const key in value) if (holds((value as Record<string, unknown>)[key], depth + 1)) return true;
  return false;
}

function holdsDeep(value: object): boolean {
  const left: unknown[] = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'number' && !Number.isFinite(next)) return true;
    if (typeof next === 'object' && next !== null) for (const child of Object.values(next)) left.push(child);
  }
  return false;
}
