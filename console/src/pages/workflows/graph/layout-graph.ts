import type { ApiGraph } from '../../../../../telltale/src/client/api.ts';
import { type Box, type Level, type LevelLink, layoutLevel, type Point, type Size } from './layout-level.ts';
import { labelSize, nodeSize } from './text-size.ts';

export interface Placed extends Size, Point {
  readonly id: string;
}

export interface PlacedEdge {
  /** Its index among the graph's edges. */
  readonly at: number;
  readonly points: readonly Point[];
  readonly label?: Point;
}

/** Positions are those of upper left corners. */
export interface GraphLayout extends Size {
  readonly nodes: readonly Placed[];
  readonly groups: readonly Placed[];
  readonly edges: readonly PlacedEdge[];
}

const GROUP_HEAD = 26;
const GROUP_PAD = 14;
/** The space next to a node for an edge to itself. */
const LOOP_ROOM = 26;

/**
 * Lays out a workflow's graph. Each group is laid out on its own, as one box of the level around it. The same graph
 * always gives the same drawing.
 */
export function layoutGraph(graph: ApiGraph): GraphLayout {
  const segments = segmentsOf(graph);
  const loops = new Set(graph.edges.flatMap(({ from, to }) => (from === to ? [from] : [])));
  const sizes = new Map<string, Size>(graph.nodes.map((node) => [node.id, nodeSize(node)]));
  const levels = new Map<string | undefined, PlacedLevel>();
  const measure = (container: string | undefined): Size => {
    const boxes: Box[] = [];
    for (const { id, group } of graph.nodes) {
      const { width, height } = sizes.get(id) ?? { width: 0, height: 0 };
      if (group === container) boxes.push({ id, height, width: width + (loops.has(id) ? 2 * LOOP_ROOM : 0) });
    }
    for (const { id, group } of graph.groups) if (group === container) boxes.push({ id, ...measure(id) });
    const parts = segments.filter((each) => each.container === container);
    const gates = new Set(parts.flatMap(({ from, to }) => [from, to]));
    for (const { id } of boxes) gates.delete(id);
    for (const id of gates) boxes.push({ id, width: 2, height: 0 });
    const { links, linkOf } = linksOf(graph, parts);
    const level = layoutLevel(boxes, links);
    levels.set(container, { level, parts, linkOf });
    const room = container === undefined ? 0 : 2 * GROUP_PAD;
    const size = { width: level.width + room, height: level.height + room + (room === 0 ? 0 : GROUP_HEAD) };
    if (container !== undefined) sizes.set(container, size);
    return size;
  };
  const whole = measure(undefined);

  const nodes: Placed[] = [];
  const groups: Placed[] = [];
  const ways = new Map<Segment, Level['ways'][number]>();
  const place = (container: string | undefined, origin: Point) => {
    const found = levels.get(container);
    const corner = (id: string): Placed | undefined => {
      const at = found?.level.at.get(id);
      const size = sizes.get(id);
      if (at === undefined || size === undefined) return undefined;
      return { id, ...size, x: origin.x + at.x - size.width / 2, y: origin.y + at.y - size.height / 2 };
    };
    const shift = ({ x, y }: Point): Point => ({ x: x + origin.x, y: y + origin.y });
    found?.parts.forEach((part, at) => {
      const { points = [], label } = found.level.ways[found.linkOf[at] ?? 0] ?? {};
      ways.set(part, {
        points: points.map(shift),
        ...(label === undefined ? {} : { label: shift(label) }),
      });
    });
    for (const { id, group } of graph.nodes) {
      const placed = group === container ? corner(id) : undefined;
      if (placed !== undefined) nodes.push(placed);
    }
    for (const { id, group } of graph.groups) {
      const placed = group === container ? corner(id) : undefined;
      if (placed === undefined) continue;
      groups.push(placed);
      place(id, { x: placed.x + GROUP_PAD, y: placed.y + GROUP_PAD + GROUP_HEAD });
    }
  };
  place(undefined, { x: 0, y: 0 });

  const edges = graph.edges.map(({ from, to }, at): PlacedEdge => {
    if (from === to) return { at, points: loopOf(nodes.find(({ id }) => id === from)) };
    const own = segments.filter(({ edge }) => edge === at).map((part) => ways.get(part));
    const label = own.find((way) => way?.label !== undefined)?.label;
    return { at, points: own.flatMap((way) => way?.points ?? []), ...(label === undefined ? {} : { label }) };
  });
  return { nodes, groups, edges, ...whole };
}

interface PlacedLevel {
  readonly level: Level;
  readonly parts: readonly Segment[];
  /** For each segment, its link. */
  readonly linkOf: readonly number[];
}

/** The links of a level. Segments between the same two boxes without labels share a link. */
function linksOf(
  graph: ApiGraph,
  parts: readonly Segment[],
): { readonly links: readonly LevelLink[]; readonly linkOf: readonly number[] } {
  const links: LevelLink[] = [];
  const bare = new Map<string, number>();
  const linkOf = parts.map(({ from, to, edge, isMain }) => {
    const { label: text = '', kind = 'next' } = graph.edges[edge] ?? {};
    const isLabelled = isMain && text !== '';
    const key = JSON.stringify([from, to, kind]);
    const known = isLabelled ? undefined : bare.get(key);
    if (known !== undefined) return known;
    links.push({ from, to, ...(isLabelled ? { label: labelSize(text) } : {}) });
    if (!isLabelled) bare.set(key, links.length - 1);
    return links.length - 1;
  });
  return { links, linkOf };
}

/** An edge from a node to itself, out of its right side and back in. */
function loopOf(node: Placed | undefined): readonly Point[] {
  if (node === undefined) return [];
  const { x, y, width, height } = node;
  const right = x + width;
  return [
    { x: right, y: y + height * 0.75 },
    { x: right + LOOP_ROOM - 6, y: y + height / 2 },
    { x: right, y: y + height * 0.25 },
  ];
}

/** The part of an edge inside one group (or outside all groups, if `container` is undefined). */
interface Segment {
  /** The edge's index in the graph. */
  readonly edge: number;
  readonly container: string | undefined;
  /** A node, a group, or a gate, which is where an edge enters or leaves the group. */
  readonly from: string;
  readonly to: string;
  /** The segment with the label: the one in the group that contains both ends. */
  readonly isMain: boolean;
}

const entryOf = (group: string): string => `${group}:in`;
const exitOf = (group: string): string => `${group}:out`;

/** Cuts every edge into segments, each inside one group, in order. An edge from a node to itself has none. */
function segmentsOf(graph: ApiGraph): readonly Segment[] {
  const outer = new Map<string, string | undefined>(graph.groups.map(({ id, group }) => [id, group]));
  const homes = new Map(graph.nodes.map(({ id, group }) => [id, chainOf(group, outer)]));
  return graph.edges.flatMap(({ from, to }, edge): readonly Segment[] => {
    const start = homes.get(from);
    const end = homes.get(to);
    if (start === undefined || end === undefined || from === to) return [];
    const common = start.find((group) => end.includes(group));
    const leaves = start.slice(0, start.indexOf(common)).filter((group) => group !== undefined);
    const enters = end.slice(0, end.indexOf(common)).filter((group) => group !== undefined);
    return [
      ...leaves.map((group, at) => ({
        edge,
        container: group,
        from: leaves[at - 1] ?? from,
        to: exitOf(group),
        isMain: false,
      })),
      { edge, container: common, isMain: true, from: leaves.at(-1) ?? from, to: enters.at(-1) ?? to },
      ...enters
        .map((group, at) => ({
          edge,
          container: group,
          from: entryOf(group),
          to: enters[at - 1] ?? to,
          isMain: false,
        }))
        .toReversed(),
    ];
  });
}

/** The groups around something, from the innermost one outwards, ending with none. */
function chainOf(
  group: string | undefined,
  outer: ReadonlyMap<string, string | undefined>,
): readonly (string | undefined)[] {
  const chain: (string | undefined)[] = [];
  for (let at = group; at !== undefined; at = outer.get(at)) {
    if (chain.includes(at)) break;
    chain.push(at);
  }
  return [...chain, undefined];
}
