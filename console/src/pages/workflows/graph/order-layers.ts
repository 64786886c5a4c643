/** The neighbors of an item, by number, in the layers above and below. */
export interface Neighbors {
  readonly up: readonly number[];
  readonly down: readonly number[];
}

/** How often all layers are swept. More sweeps change almost nothing. */
const SWEEPS = 12;

/**
 * Orders each layer so that few links cross: sorts by the mean position of the neighbors, down and up, and keeps the
 * best order.
 */
export function orderLayers(
  layers: readonly (readonly number[])[],
  around: readonly Neighbors[],
): readonly (readonly number[])[] {
  let now = layers.map((layer) => [...layer]);
  let best = now;
  let fewest = crossings(now, around);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const goesDown = sweep % 2 === 0;
    const side = goesDown ? 'up' : 'down';
    const place = new Map<number, number>();
    const next: number[][] = [];
    const from = goesDown ? now : now.toReversed();
    for (const layer of from) {
      const sorted = layer
        .map((one, at) => ({ one, wish: middle(around[one]?.[side] ?? [], place) ?? at, at }))
        .sort((a, b) => a.wish - b.wish || a.at - b.at)
        .map(({ one }) => one);
      sorted.forEach((one, at) => void place.set(one, at));
      next.push(sorted);
    }
    now = goesDown ? next : next.toReversed();
    const count = crossings(now, around);
    if (count < fewest) {
      fewest = count;
      best = now;
    }
  }
  return best;
}

function middle(near: readonly number[], place: ReadonlyMap<number, number>): number | undefined {
  if (near.length === 0) return undefined;
  return near.reduce((sum, one) => sum + (place.get(one) ?? 0), 0) / near.length;
}

/** How many pairs of links cross between all layers. */
export function crossings(layers: readonly (readonly number[])[], around: readonly Neighbors[]): number {
  let count = 0;
  layers.forEach((layer, at) => {
    const below = layers[at + 1] ?? [];
    const place = new Map(below.map((one, position) => [one, position]));
    const tree = new Array<number>(below.length + 1).fill(0);
    let seen = 0;
    for (const one of layer) {
      const ends = (around[one]?.down ?? []).flatMap((other) => place.get(other) ?? []);
      for (const end of ends) {
        let notBehind = 0;
        for (let i = end + 1; i > 0; i -= i & -i) notBehind += tree[i] ?? 0;
        count += seen - notBehind;
      }
      for (const end of ends) {
        seen++;
        for (let i = end + 1; i < tree.length; i += i & -i) tree[i] = (tree[i] ?? 0) + 1;
      }
    }
  });
  return count;
}
