export const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** A YAML map or JSON object, in contrast to null, lists and scalars. */
export const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** A deeply frozen copy that shares nothing with the input or with the schemas' defaults. */
export function frozenCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  const entries = Object.entries(value).map(([key, item]) => [key, frozenCopy(item)]);
  return Object.freeze(Object.fromEntries(entries)) as T;
}
/** Creates a value when it is first used. The 766 schemas of a Workflow take 12 ms, and most runs don't need them. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
