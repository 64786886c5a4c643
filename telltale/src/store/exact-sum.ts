/**
 * Whether a counter may be set from `before` to `before + by`. Beyond 2^53 a sum of whole numbers may be another one, or
 * the same number again: who counts would never notice.
 */
export function isExactSum(before: number, by: number): boolean {
  const after = before + by;
  if (by === 0) return true;
  return after !== before && (!Number.isInteger(before) || !Number.isInteger(by) || after - before === by);
}
