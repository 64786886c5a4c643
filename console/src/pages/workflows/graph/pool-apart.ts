export interface Wish {
  /** Where its center would like to be. */
  readonly at: number;
  readonly width: number;
  /** How much its wish counts relative to others. */
  readonly weight: number;
}

/**
 * The centers of items in a row, in this order, at least `gap` apart, and as close as possible to their wishes (least
 * squares: neighbors that would overlap are pooled, as in isotonic regression).
 */
export function poolApart(wishes: readonly Wish[], gap: number): readonly number[] {
  const offsets: number[] = [];
  let offset = 0;
  wishes.forEach(({ width }, at) => {
    const before = wishes[at - 1];
    if (before !== undefined) offset += (before.width + width) / 2 + gap;
    offsets.push(offset);
  });
  const pools: { at: number; weight: number; count: number }[] = [];
  wishes.forEach(({ at, weight }, place) => {
    let pool = { at: at - (offsets[place] ?? 0), weight, count: 1 };
    for (let last = pools.at(-1); last !== undefined && last.at > pool.at; last = pools.at(-1)) {
      pools.pop();
      const both = last.weight + pool.weight;
      pool = {
        at: (last.at * last.weight + pool.at * pool.weight) / both,
        weight: both,
        count: last.count + pool.count,
      };
    }
    pools.push(pool);
  });
  const placed = pools.flatMap(({ at, count }) => Array.from({ length: count }, () => at));
  return placed.map((at, place) => at + (offsets[place] ?? 0));
}
