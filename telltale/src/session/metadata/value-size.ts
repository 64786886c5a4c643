import type { Json } from '../../kernel/json.ts';

/** No value is deeper, whatever the manifest says: what compares, merges and writes values walks down them. */
export const MAX_DEPTH = 64;

/** Whether lists and objects stand in each other more than `limit` deep. Ends at the limit, however deep the value is. */
export function isDeeperThan(value: Json, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit <= 0) return true;
  for (const item of Array.isArray(value) ? value : Object.values(value))
    if (isDeeperThan(item as Json, limit - 1)) return true;
  return false;
}

/** The size of a value as JSON in UTF-8; of `null`, which is a field that is not set, none. */
export function byteSize(value: Json): number {
  return value === null ? 0 : Buffer.byteLength(JSON.stringify(value));
}
