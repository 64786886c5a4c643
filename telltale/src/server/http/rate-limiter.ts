/** So much of everything: `burst` at once, `perSecond` in the long run. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Token buckets by key. Times are milliseconds that never go back. */
export interface RateLimiter {
  /** Takes one; 0 where there was one, else how many milliseconds until there is. */
  take(key: string, nowMs: number): number;
  /** The same without taking it. */
  wait(key: string, nowMs: number): number;
  readonly size: number;
}

/** Keys that are remembered: beyond that the one that was quiet for longest begins anew. */
const MAX_KEYS = 10_000;

interface Bucket {
  readonly left: number;
  readonly atMs: number;
}

export function createRateLimiter({ perSecond, burst }: Rate, maxKeys = MAX_KEYS): RateLimiter {
  /** In the order of their last use. */
  const buckets = new Map<string, Bucket>();

  const leftOf = (key: string, nowMs: number): number => {
    const bucket = buckets.get(key);
    if (bucket === undefined) return burst;
    return Math.min(burst, bucket.left + ((nowMs - bucket.atMs) / 1_000) * perSecond);
  };
  const waitOf = (left: number): number => (left >= 1 ? 0 : Math.ceil(((1 - left) / perSecond) * 1_000));

  return {
    take(key, nowMs) {
      const left = leftOf(key, nowMs);
      const waitMs = waitOf(left);
      buckets.delete(key);
      buckets.set(key, { left: waitMs === 0 ? left - 1 : left, atMs: nowMs });
      const [oldest] = buckets.keys();
      if (buckets.size > maxKeys && oldest !== undefined) buckets.delete(oldest);
      return waitMs;
    },
    wait: (key, nowMs) => waitOf(leftOf(key, nowMs)),
    get size() {
      return buckets.size;
    },
  };
}
