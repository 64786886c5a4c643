import { type Item, layersOf, placeAcross, placeDown } from './place-items.ts';
import { rankBoxes } from './rank-boxes.ts';

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
  /** The size of what is written on it. */
  readonly label?: Size;
}

export interface Level extends Size {
  /** The middles of the boxes. */
  readonly at: ReadonlyMap<string, Point>;
  /** For each link, in order: its way from box to box, and where its label's middle is. */
  readonly ways: readonly { readonly points: readonly Point[]; readonly label?: Point }[];
}

/** Bends in one drawing: beyond that links lead straight through what is between, rather than take seconds. */
const MAX_BENDS = 6_000;

/** Lays out boxes of one level in layers, from top to bottom: none overlaps another, and no link runs through a box. */
export function layoutLevel(boxes: readonly Box[], links: readonly LevelLink[]): Level {
  const { ranks, reversed } = rankBoxes(
    boxes.map(({ id }) => id),
    links,
  );
  const items: Item[] = boxes.map(({ id, width, height }) => ({
    ...{ width, height, rank: ranks.get(id) ?? 0, bend: false },
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
    ...{ width: right - left, height },
  };
}
