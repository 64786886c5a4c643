const MAX_SHOWN = 60;

/** A value as error messages quote it: text in quotes and clipped, lists and maps described. */
export function showValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'string') return `"${clip(value.replaceAll('\n', '\\n'))}"`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  const keys = typeof value === 'object' ? Object.keys(value) : [];
  return keys.length === 0 ? 'an empty map' : `a map with ${clip(keys.join(', '))}`;
}

export const clip = (text: string, max = MAX_SHOWN): string =>
  text.length > max ? `${text.slice(0, max)}…` : text;

/** `a, b or c`. */
export function orList(names: readonly string[]): string {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
