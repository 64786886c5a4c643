/** A copy, frozen to the bottom, that shares nothing with the input or with the schemas' defaults. */
export function frozenCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  const entries = Object.entries(value).map(([key, item]) => [key, frozenCopy(item)]);
  return Object.freeze(Object.fromEntries(entries)) as T;
}
