import type { Edge, Node } from '@xyflow/react';
import type { ApiGraph } from '../../../../../telltale/src/client/api.ts';
import type { GraphLayout } from './layout-graph.ts';
import type { Point } from './layout-level.ts';
import type { NodeMark, RunPosition } from './run-position.ts';
import { shownLines } from './text-size.ts';

export type GraphNodeInfo = ApiGraph['nodes'][number];

export type DrawnNode = Node<
  {
    readonly node: GraphNodeInfo;
    readonly lines: readonly string[];
    readonly mark?: NodeMark;
    readonly isChosen: boolean;
    readonly onChoose?: (node: GraphNodeInfo) => void;
  },
  'box'
>;

export type DrawnGroup = Node<
  { readonly name: string; readonly type: string; readonly mark?: NodeMark },
  'group-box'
>;

export type DrawnEdge = Edge<
  {
    readonly path: string;
    readonly kind: ApiGraph['edges'][number]['kind'];
    readonly isTaken: boolean;
    readonly text?: string;
    readonly label?: Point;
  },
  'way'
>;

export interface FlowOptions {
  readonly position?: RunPosition | undefined;
  readonly chosen?: string | undefined;
  readonly onChoose?: ((node: GraphNodeInfo) => void) | undefined;
}

const FIXED = { draggable: false, connectable: false, selectable: false, focusable: false } as const;

/** Converts a laid-out graph and a run's position to what the drawing library expects. */
export function toFlow(
  graph: ApiGraph,
  layout: GraphLayout,
  { position, chosen, onChoose }: FlowOptions,
): { readonly nodes: readonly (DrawnNode | DrawnGroup)[]; readonly edges: readonly DrawnEdge[] } {
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const groups = layout.groups.flatMap(({ id, x, y, width, height }): readonly DrawnGroup[] => {
    const group = graph.groups.find((one) => one.id === id);
    const mark = position?.marks.get(id);
    return group === undefined
      ? []
      : [
          {
            id,
            type: 'group-box',
            position: { x, y },
            width,
            height,
            zIndex: -1,
            ...FIXED,
            data: { name: group.name, type: group.type, ...(mark === undefined ? {} : { mark }) },
          },
        ];
  });
  const nodes = layout.nodes.flatMap(({ id, x, y, width, height }): readonly DrawnNode[] => {
    const node = byId.get(id);
    const mark = position?.marks.get(id);
    return node === undefined
      ? []
      : [
          {
            id,
            type: 'box',
            position: { x, y },
            width,
            height,
            ...FIXED,
            data: {
              node,
              lines: shownLines(node),
              isChosen: chosen === node.name,
              ...(mark === undefined ? {} : { mark }),
              ...(onChoose === undefined ? {} : { onChoose }),
            },
          },
        ];
  });
  const edges = layout.edges.flatMap(({ at, points, label }): readonly DrawnEdge[] => {
    const edge = graph.edges[at];
    if (edge === undefined || points.length === 0) return [];
    const { from, to, kind, label: text } = edge;
    return [
      {
        id: `e${at}`,
        type: 'way',
        source: from,
        target: to,
        ...FIXED,
        data: {
          kind,
          isTaken: position?.taken.has(at) ?? false,
          path: from === to ? loopPath(points) : edgePath(points),
          ...(text === undefined || text === '' ? {} : { text }),
          ...(label === undefined ? {} : { label }),
        },
      },
    ];
  });
  return { nodes: [...groups, ...nodes], edges };
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** A line through all points that leaves and enters each of them vertically, and is straight if they are aligned. */
function edgePath(points: readonly Point[]): string {
  return points
    .map(({ x, y }, at) => {
      const before = points[at - 1];
      if (before === undefined) return `M ${round(x)} ${round(y)}`;
      if (Math.abs(before.x - x) < 0.5) return `L ${round(x)} ${round(y)}`;
      const middle = round((before.y + y) / 2);
      return `C ${round(before.x)} ${middle} ${round(x)} ${middle} ${round(x)} ${round(y)}`;
    })
    .join(' ');
}

/** For an edge from a node to itself: out of its side and back in. */
function loopPath([from, over, to]: readonly Point[]): string {
  if (from === undefined || over === undefined || to === undefined) return '';
  return `M ${round(from.x)} ${round(from.y)} C ${round(over.x + 6)} ${round(from.y)} ${round(over.x + 6)} ${round(to.y)} ${round(to.x)} ${round(to.y)}`;
}
