import type { Json } from '../../lib/json.ts';

/** JSON without white space and with keys sorted by code units: equal values give equal texts. */
export function canonicalJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item as Json)).join(',')}]`;
  const map = value as { readonly [key: string]: Json };
  const entries = Object.keys(map)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(map[key] ?? null)}`);
  return `{${entries.join(',')}}`;
}
