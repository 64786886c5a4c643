/**
 * Whether a counter may be set from `before` to `before + by`. Beyond 2^53 a sum of whole numbers may be another one, or
 * one of the two again: who counts would never notice.
 */
export function isExactSum(before: number, by: number): boolean {
  if (before === 0 || by === 0) return true;
  const after = before + by;
  if (after === before || after === by) return false;
  if (!Number.isInteger(before) || !Number.isInteger(by)) return true;
  // What is left without the larger of the two is exact itself, and so says what of the smaller one is in the sum.
  return Math.abs(by) > Math.abs(before) ? after - by === before : after - before === by;
}
