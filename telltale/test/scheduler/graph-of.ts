import { type Declaration, declare } from '../../src/scheduler/dependency-graph.ts';
import type { Change, Graph, Node } from '../../src/scheduler/graph.ts';

/** Declares an action that needs these: nodes as they are, strings as ids that nobody has declared. */
export const add = (
  graph: Graph,
  id: string,
  needs: readonly (Node | string)[] = [],
  more: Partial<Declaration> = {},
) =>
  declare(graph, {
    id,
    needs: {
      nodes: needs.filter((need) => typeof need !== 'string'),
      unseen: needs.filter((need) => typeof need === 'string'),
      failedBy: undefined,
      itself: false,
    },
    unnamed: undefined,
    joins: [],
    held: 'no',
    blocksStream: false,
    makesMembers: false,
    ...more,
  });

export const brief = (changes: readonly Change[]) =>
  changes.map((change) => `${change.kind} ${change.kind === 'closed' ? change.join.id : change.node.id}`);
