/** Whether two values say the same: maps and sets by their members, objects by their keys, what is undefined left out. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((one, at) => sameValue(one, b[at]))
    );
  if (a instanceof Set || b instanceof Set)
    return a instanceof Set && b instanceof Set && a.size === b.size && [...a].every((one) => b.has(one));
  if (a instanceof Map || b instanceof Map)
    return (
      a instanceof Map &&
      b instanceof Map &&
      a.size === b.size &&
      [...a].every(([key, one]) => b.has(key) && sameValue(one, b.get(key)))
    );
  return sameKeys(a as Record<string, unknown>, b as Record<string, unknown>);
}

function sameKeys(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const own = Object.keys(a);
  const isIn = (key: string) => Object.hasOwn(b, key) || a[key] === undefined;
  return (
    own.every((key) => isIn(key) && sameValue(a[key], b[key])) &&
    Object.keys(b).every((key) => Object.hasOwn(a, key) || b[key] === undefined)
  );
}
