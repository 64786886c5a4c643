import type { ApiGraph } from '../../../../../telltale/src/client/api.ts';

/** The part of an edge that lies in one group (`container`; undefined: in none), between two of its boxes. */
export interface Segment {
  /** The edge's place in the graph's list. */
  readonly edge: number;
  readonly container: string | undefined;
  /** A node, a group, or a gate: where edges enter or leave the group. */
  readonly from: string;
  readonly to: string;
  /** Where both ends meet: the part that bears the label. */
  readonly isMain: boolean;
}

const entryOf = (group: string): string => `${group}:in`;
const exitOf = (group: string): string => `${group}:out`;

/** Cuts every edge into the parts that lie in one group each, from its start to its end. Edges to oneself have none. */
export function segmentsOf(graph: ApiGraph): readonly Segment[] {
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
        ...{ edge, container: group, from: leaves[at - 1] ?? from, to: exitOf(group), isMain: false },
      })),
      {
        ...{ edge, container: common, isMain: true },
        ...{ from: leaves.at(-1) ?? from, to: enters.at(-1) ?? to },
      },
      ...enters
        .map((group, at) => ({
          ...{ edge, container: group, from: entryOf(group), to: enters[at - 1] ?? to, isMain: false },
        }))
        .toReversed(),
    ];
  });
}

/** The groups around something, from the innermost to none at all. */
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
