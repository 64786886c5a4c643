import { createHash } from 'node:crypto';

/** The number of the lock that guards a key of a table, or a list: the same in every process. */
export function keyLock(schema: string, table: string, key: string | null): bigint {
  const name = key === null ? `${schema}\0list\0${table}` : `${schema}\0key\0${table}\0${key}`;
  return createHash('sha256').update(name).digest().readBigInt64BE();
}

/** Each once, in the order in which everybody takes them. Null for none. */
export function sortedLocks(locks: readonly bigint[]): string | null {
  if (locks.length === 0) return null;
  const sorted = [...new Set(locks)].sort((a, b) => (a < b ? -1 : 1));
  return `{${sorted.join(',')}}`;
}
