import type { EdgeKind, GraphEdge, GraphGroup, GraphNode, NodeKind } from './workflow-graph.ts';

/** A way out of something, still without a place to lead to. */
export interface Exit {
  readonly from: string;
  readonly label?: string;
}

/** Collects a graph, and names its parts in the order in which they come. */
export interface GraphBuilder {
  readonly nodes: readonly GraphNode[];
  readonly groups: readonly GraphGroup[];
  readonly edges: readonly GraphEdge[];
  /** The id of the new node. */
  node(kind: NodeKind, name: string, lines: readonly string[], group: string | undefined): string;
  group(name: string, type: string, group: string | undefined): string;
  edge(from: Exit, to: string, kind?: EdgeKind): void;
}

export function createGraphBuilder(): GraphBuilder {
  const nodes: GraphNode[] = [];
  const groups: GraphGroup[] = [];
  const edges: GraphEdge[] = [];
  const within = (group: string | undefined) => (group === undefined ? {} : { group });
  return {
    nodes,
    groups,
    edges,
    node(kind, name, lines, group) {
      const id = `n${nodes.length + 1}`;
      nodes.push({ id, kind, name, lines, ...within(group) });
      return id;
    },
    group(name, type, group) {
      const id = `g${groups.length + 1}`;
      groups.push({ id, name, type, ...within(group) });
      return id;
    },
    edge({ from, label }, to, kind = 'next') {
      edges.push({ from, to, kind, ...(label === undefined ? {} : { label }) });
    },
  };
}
