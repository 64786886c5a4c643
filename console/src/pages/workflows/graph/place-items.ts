import { type Neighbours, orderLayers } from './order-layers.ts';
import { poolApart } from './pool-apart.ts';

/** A box, or a bend of a link in a layer that it only passes through. */
export interface Item {
  readonly width: number;
  readonly height: number;
  readonly rank: number;
  readonly bend: boolean;
}

export type Layers = readonly (readonly number[])[];

const GAP_X = 28;
const GAP_Y = 15;
const PASSES = 10;

/** The items by rank, each layer in the order in which few links cross. */
export function layersOf(items: readonly Item[], around: readonly Neighbours[]): Layers {
  const layers: number[][] = [];
  items.forEach(({ rank }, at) => {
    layers[rank] ??= [];
    layers[rank].push(at);
  });
  return orderLayers(
    Array.from(layers, (layer) => layer ?? []),
    around,
  );
}

/** The middle of each item: near to what it is joined to, and apart from its neighbours. */
export function placeAcross(
  layers: Layers,
  items: readonly Item[],
  around: readonly Neighbours[],
): readonly number[] {
  const xs = items.map(() => 0);
  for (let pass = 0; pass < PASSES; pass++) {
    const side = pass % 2 === 0 ? 'up' : 'down';
    for (const layer of pass % 2 === 0 ? layers : layers.toReversed()) {
      const wishes = layer.map((item) => {
        const others = around[item]?.[side] ?? [];
        const { width = 0, bend = false } = items[item] ?? {};
        const sum = others.reduce((total, other) => total + (xs[other] ?? 0), 0);
        // What hangs on nothing stays; long links are drawn straight rather than boxes in the middle of them.
        const at = others.length === 0 ? (xs[item] ?? 0) : sum / others.length;
        return { at, width, weight: bend ? 3 : 1 + others.length };
      });
      poolApart(wishes, GAP_X).forEach((x, place) => {
        const item = layer[place];
        if (item !== undefined) xs[item] = x;
      });
    }
  }
  return xs;
}

/** Where each layer begins, how tall it is, and how tall all of them are. */
export function placeDown(layers: Layers, items: readonly Item[]) {
  const heights = layers.map((layer) => Math.max(0, ...layer.map((item) => items[item]?.height ?? 0)));
  const tops: number[] = [];
  let y = 0;
  heights.forEach((tall) => {
    tops.push(y);
    y += tall + GAP_Y;
  });
  return { tops, heights, height: Math.max(0, y - GAP_Y) };
}
