import { type Neighbors, orderLayers } from './order-layers.ts';
import { poolApart } from './pool-apart.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Size {
  readonly id: string;
}

export interface LevelLink {
  readonly from: string;
  readonly to: string;
  /** The size of its label. */
  readonly label?: Size;
}

export interface Level extends Size {
  /** The centers of the boxes. */
  readonly at: ReadonlyMap<string, Point>;
  /** For each link in order: its path, and the center of its label. */
  readonly ways: readonly { readonly points: readonly Point[]; readonly label?: Point }[];
}

/** How many bends a drawing may have. Beyond that, links are drawn straight, because the layout would take seconds. */
const MAX_BENDS = 6_000;

/** Lays out the boxes of one level in layers from top to bottom. No boxes overlap, and no link crosses a box. */
export function layoutLevel(boxes: readonly Box[], links: readonly LevelLink[]): Level {
  const { ranks, reversed } = rankBoxes(
    boxes.map(({ id }) => id),
    links,
  );
  const items: Item[] = boxes.map(({ id, width, height }) => ({
    width,
    height,
    rank: ranks.get(id) ?? 0,
    bend: false,
  }));
  const number = new Map(boxes.map(({ id }, at) => [id, at]));
  const up: number[][] = items.map(() => []);
  const down: number[][] = items.map(() => []);
  const join = (above: number, below: number) => {
    down[above]?.push(below);
    up[below]?.push(above);
  };
  const chains = links.map(({ from, to, label }, at): readonly number[] => {
    const ends = reversed.has(at) ? [to, from] : [from, to];
    const [first = 0, last = 0] = ends.map((id) => number.get(id) ?? 0);
    const top = items[first]?.rank ?? 0;
    const bottom = items[last]?.rank ?? 0;
    const chain = [first];
    for (let rank = top + 1; rank < bottom; rank++) {
      const isLabel = rank === top + 1;
      if (!isLabel && items.length - boxes.length > MAX_BENDS) continue;
      const size = isLabel && label !== undefined ? label : { width: 2, height: 0 };
      items.push({ ...size, rank, bend: true });
      up.push([]);
      down.push([]);
      chain.push(items.length - 1);
    }
    chain.push(last);
    for (let i = 1; i < chain.length; i++) join(chain[i - 1] ?? 0, chain[i] ?? 0);
    return chain;
  });
  const around = items.map((_, at) => ({ up: up[at] ?? [], down: down[at] ?? [] }));
  const layers = layersOf(items, around);
  const xs = placeAcross(layers, items, around);
  const { tops, heights, height } = placeDown(layers, items);
  const left = Math.min(...items.map(({ width }, at) => (xs[at] ?? 0) - width / 2), 0);
  const right = Math.max(...items.map(({ width }, at) => (xs[at] ?? 0) + width / 2), 0);
  const xOf = (item: number) => (xs[item] ?? 0) - left;
  const topOf = (item: number) => tops[items[item]?.rank ?? 0] ?? 0;
  const middleOf = (item: number): Point => ({
    x: xOf(item),
    y: topOf(item) + (heights[items[item]?.rank ?? 0] ?? 0) / 2,
  });
  return {
    at: new Map(boxes.map(({ id }, at) => [id, middleOf(at)])),
    ways: chains.map((chain, at) => {
      const points = chain.flatMap((item, place): readonly Point[] => {
        const { bend = false, height: tall = 0, rank = 0 } = items[item] ?? {};
        const x = xOf(item);
        const y = middleOf(item).y;
        if (bend)
          return [
            { x, y: topOf(item) },
            { x, y: topOf(item) + (heights[rank] ?? 0) },
          ];
        return [{ x, y: place === 0 ? y + tall / 2 : y - tall / 2 }];
      });
      const label = links[at]?.label === undefined ? undefined : chain[1];
      return {
        points: reversed.has(at) ? points.toReversed() : points,
        ...(label === undefined ? {} : { label: middleOf(label) }),
      };
    }),
    width: right - left,
    height,
  };
}
interface RankLink {
  readonly from: string;
  readonly to: string;
}

interface Ranking {
  readonly ranks: ReadonlyMap<string, number>;
  /** The indices of links that lead back up. They are laid out in reverse. */
  readonly reversed: ReadonlySet<number>;
}

/** The minimum number of ranks that a link spans. The rank in between has room for its label. */
const SPAN = 2;

/** Ranks each box below all boxes that lead to it, by the longest path. Links that would close a cycle are reversed. */
function rankBoxes(ids: readonly string[], links: readonly RankLink[]): Ranking {
  const out = new Map<string, number[]>(ids.map((id) => [id, []]));
  links.forEach(({ from }, at) => void out.get(from)?.push(at));
  const reversed = new Set<number>();
  const state = new Map<string, 'open' | 'done'>();
  const order: string[] = [];
  for (const id of ids) {
    if (state.has(id)) continue;
    // Uses its own stack, because a chain may be longer than the call stack allows.
    const path = [{ id, next: 0 }];
    state.set(id, 'open');
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const at = out.get(top.id)?.[top.next++];
      const link = at === undefined ? undefined : links[at];
      if (at === undefined || link === undefined) {
        state.set(top.id, 'done');
        order.push(top.id);
        path.pop();
      } else if (state.get(link.to) === 'open') reversed.add(at);
      else if (!state.has(link.to)) {
        state.set(link.to, 'open');
        path.push({ id: link.to, next: 0 });
      }
    }
  }
  const ranks = new Map<string, number>(ids.map((id) => [id, 0]));
  const lower = (id: string, rank: number) => {
    if ((ranks.get(id) ?? 0) < rank) ranks.set(id, rank);
  };
  const incoming = new Map<string, string[]>(ids.map((id) => [id, []]));
  links.forEach(({ from, to }, at) => {
    if (reversed.has(at)) incoming.get(from)?.push(to);
    else incoming.get(to)?.push(from);
  });
  for (const id of order.toReversed())
    for (const before of incoming.get(id) ?? []) lower(id, (ranks.get(before) ?? 0) + SPAN);
  return { ranks, reversed };
}

/** A box, or a bend of a link in a layer that it passes through. */
interface Item {
  readonly width: number;
  readonly height: number;
  readonly rank: number;
  readonly bend: boolean;
}

type Layers = readonly (readonly number[])[];

const GAP_X = 28;
const GAP_Y = 15;
const PASSES = 10;

/** The items by rank, each layer in an order with few crossings. */
function layersOf(items: readonly Item[], around: readonly Neighbors[]): Layers {
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

/** The horizontal center of each item: close to its neighbors in other layers, and apart from those in its own. */
function placeAcross(
  layers: Layers,
  items: readonly Item[],
  around: readonly Neighbors[],
): readonly number[] {
  const xs = items.map(() => 0);
  for (let pass = 0; pass < PASSES; pass++) {
    const side = pass % 2 === 0 ? 'up' : 'down';
    for (const layer of pass % 2 === 0 ? layers : layers.toReversed()) {
      const wishes = layer.map((item) => {
        const others = around[item]?.[side] ?? [];
        const { width = 0, bend = false } = items[item] ?? {};
        const sum = others.reduce((total, other) => total + (xs[other] ?? 0), 0);
        // An item without links stays. Straight long links take precedence over centered boxes.
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

/** The position and height of each layer, and the total height. */
function placeDown(layers: Layers, items: readonly Item[]) {
  const heights = layers.map((layer) => Math.max(0, ...layer.map((item) => items[item]?.height ?? 0)));
  const tops: number[] = [];
  let y = 0;
  heights.forEach((tall) => {
    tops.push(y);
    y += tall + GAP_Y;
  });
  return { tops, heights, height: Math.max(0, y - GAP_Y) };
}
