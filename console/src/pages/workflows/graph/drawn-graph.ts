import type { ApiGraph } from '../../../../../telltale/src/client/api.ts';

/**
 * How many edges are drawn. A machine with hundreds of states, in which an artifact may choose any, has tens of
 * thousands.
 */
const MAX_EDGES = 400;
/** How many nodes are drawn. */
export const MAX_NODES = 600;

export interface DrawnGraph {
  readonly graph: ApiGraph;
  /** What was omitted, in words. */
  readonly note?: string;
}

/** The part of a graph that a person can read. With too many edges, the merely possible ones are dropped first. */
export function drawnGraph(graph: ApiGraph): DrawnGraph {
  if (graph.edges.length <= MAX_EDGES) return { graph };
  const firm = graph.edges.filter(({ kind, label }) => kind !== 'open' || label !== undefined);
  const edges = firm.slice(0, MAX_EDGES);
  const left = graph.edges.length - edges.length;
  return {
    graph: { ...graph, edges },
    note: `${left.toLocaleString('en')} of ${graph.edges.length.toLocaleString('en')} connections are not drawn.`,
  };
}
