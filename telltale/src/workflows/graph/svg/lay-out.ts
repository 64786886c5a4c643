import { displayWidth } from '../../../manifest/display-width.ts';
import type { GraphEdge, GraphGroup, GraphNode, WorkflowGraph } from '../workflow-graph.ts';
import { fitText } from './fit-text.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The middle of a box, and its size. */
export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export interface PlacedNode extends Box {
  readonly node: GraphNode;
  readonly title: readonly string[];
  readonly rows: readonly string[];
}

export interface PlacedEdge {
  readonly edge: GraphEdge;
  readonly points: readonly Point[];
  readonly rows: readonly string[];
  /** The middle of its label. */
  readonly label: Point;
}

export interface PlacedGroup extends Box {
  readonly group: GraphGroup;
  readonly depth: number;
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  readonly groups: readonly PlacedGroup[];
}

/** Of a monospaced font of FONT_SIZE: what a column takes. */
export const COLUMN = 7.25;
export const ROW = 16;
export const FONT_SIZE = 12;
const PADDING = 10;
const DOT = 18;
const NODE_COLUMNS = 34;
const LABEL_COLUMNS = 26;
const ROWS_A_LINE = 2;
const MARGIN = 24;

/** Places everything. Dagre is loaded here, at the first drawing. */
export async function layOut(graph: WorkflowGraph): Promise<Drawing> {
  const { Graph, layout } = await import('@dagrejs/dagre');
  const drawn = new Graph({ directed: true, compound: true, multigraph: true });
  drawn.setGraph({ rankdir: 'TB', nodesep: 36, ranksep: 44, edgesep: 20, marginx: MARGIN, marginy: MARGIN });
  const titles = new Map(graph.nodes.map((node) => [node.id, titleOf(node)]));
  const rows = new Map(graph.nodes.map((node) => [node.id, rowsOf(node)]));
  for (const { id } of graph.groups) drawn.setNode(id, {});
  for (const { id, kind } of graph.nodes)
    drawn.setNode(id, sizeOf(kind, [...(titles.get(id) ?? []), ...(rows.get(id) ?? [])]));
  for (const { id, group } of [...graph.groups, ...graph.nodes])
    if (group !== undefined) drawn.setParent(id, group);
  const labels = graph.edges.map(({ label = '' }) => fitText(label, LABEL_COLUMNS, ROWS_A_LINE));
  for (const [index, { from, to }] of graph.edges.entries())
    drawn.setEdge(from, to, labelSize(labels[index] ?? []), String(index));
  layout(drawn);
  const { width = 0, height = 0 } = drawn.graph();
  return {
    width,
    height,
    nodes: graph.nodes.map((node) => ({
      ...boxOf(drawn.node(node.id)),
      node,
      title: titles.get(node.id) ?? [],
      rows: rows.get(node.id) ?? [],
    })),
    edges: graph.edges.map((edge, index) => {
      const { points = [], x = 0, y = 0 } = drawn.edge(edge.from, edge.to, String(index));
      return { edge, points, rows: labels[index] ?? [], label: { x, y } };
    }),
    groups: graph.groups.map((group) => ({
      ...boxOf(drawn.node(group.id)),
      group,
      depth: depthOf(group, graph.groups),
    })),
  };
}

const titleOf = ({ kind, name }: GraphNode): readonly string[] =>
  kind === 'split' ? [] : fitText(name, NODE_COLUMNS, ROWS_A_LINE);

const rowsOf = ({ lines }: GraphNode): readonly string[] =>
  lines.flatMap((line) => fitText(line, NODE_COLUMNS, ROWS_A_LINE));

function sizeOf(kind: GraphNode['kind'], rows: readonly string[]) {
  if (kind === 'start' || kind === 'end') return { width: DOT, height: DOT };
  return { width: widest(rows) + 2 * PADDING, height: Math.max(1, rows.length) * ROW + 2 * PADDING };
}

const labelSize = (rows: readonly string[]) =>
  rows.length === 0
    ? { width: 0, height: 0 }
    : { width: widest(rows) + PADDING, height: rows.length * ROW, labelpos: 'c' as const };

export const widest = (rows: readonly string[]): number =>
  rows.reduce((most, row) => Math.max(most, displayWidth(row) * COLUMN), 0);

const boxOf = ({ x = 0, y = 0, width = 0, height = 0 }: Partial<Box>): Box => ({ x, y, width, height });

const depthOf = ({ group }: GraphGroup, all: readonly GraphGroup[]): number => {
  const outer = all.find(({ id }) => id === group);
  return outer === undefined ? 0 : 1 + depthOf(outer, all);
};
