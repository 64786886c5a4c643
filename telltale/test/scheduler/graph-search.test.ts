import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blockerOf, openJoin, seal, settle, waitForMore } from '../../src/scheduler/dependency-graph.ts';
import {
  type ActionNode,
  createGraph,
  type Graph,
  isPending,
  type JoinNode,
  type Node,
} from '../../src/scheduler/graph.ts';
import { moreRuns } from '../more-runs.ts';
import { add } from './graph-of.ts';

/** Long enough that a search does not come to the end of it. */
const LONG = 130;

/** How many of those that came last are picked more often. */
const RECENT = 6;

/** What is to be named is picked by number from what there is then: ids, and ids that come later. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('one'), needs: fc.array(fc.nat(), { maxLength: 4 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('chain'), needs: fc.array(fc.nat(), { maxLength: 2 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('late'), needs: fc.array(fc.nat(), { maxLength: 3 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('member'), needs: fc.array(fc.nat(), { maxLength: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('seal'), needs: fc.constant<number[]>([]) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('settle'), needs: fc.array(fc.nat(), { minLength: 1 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('more'), needs: fc.array(fc.nat(), { minLength: 2 }) }),
  },
);

const aboveOf = (node: Node): Iterable<Node> => (node.kind === 'action' ? node.waitsFor : node.open);

/** All that must end before these can, by looking at everything. */
function allAbove(nodes: Iterable<Node>): ReadonlySet<Node> {
  const found = new Set<Node>();
  const work = [...nodes];
  for (let at = work.pop(); at !== undefined; at = work.pop()) {
    if (!isPending(at) || found.has(at)) continue;
    found.add(at);
    work.push(...aboveOf(at));
  }
  return found;
}

/** As `blocked.ts` has it, from the table of what nobody has declared. */
function isBlocked({ unseen }: Graph, node: Node): boolean {
  const above = allAbove([node]);
  for (const nodes of unseen?.values() ?? []) if (nodes.some((each) => above.has(each))) return true;
  return false;
}

/** A graph that grows step by step, with all that it is asked held against what the whole of it says. */
function play(steps: readonly { readonly do: string; readonly needs: readonly number[] }[]): number {
  const graph = createGraph();
  const known: Node[] = [];
  const coming = ['l0', 'l1', 'l2'];
  let join: JoinNode | undefined;
  let cycles = 0;
  let made = 0;

  const pick = (n: number): Node | string => {
    const open = known.filter(isPending).slice(n % 2 === 0 ? 0 : -RECENT);
    const at = n % (open.length + coming.length);
    return open[at] ?? (coming[at - open.length] as string);
  };
  const declare = (id: string, needs: readonly (Node | string)[], joins: readonly JoinNode[] = []): Node => {
    const others = needs.filter((need) => need !== id);
    const below = new Set<Node>([...(graph.unseen?.get(id) ?? []), ...joins]);
    const itself = [...allAbove(others.filter((need) => typeof need !== 'string'))].some((node) =>
      below.has(node),
    );
    const { node, changes } = add(graph, id, others, { joins });
    expect(changes.some((change) => change.kind === 'deadlock' && change.node === node)).toBe(itself);
    if (itself) cycles++;
    known.push(node);
    return node;
  };

  for (const { do: what, needs } of steps) {
    const picked = needs.map(pick);
    if (what === 'one') declare(`a${made++}`, picked);
    else if (what === 'chain') {
      let last = declare(`a${made++}`, picked);
      for (let i = 1; i < LONG; i++) last = isPending(last) ? declare(`a${made++}`, [last]) : last;
    } else if (what === 'late') {
      const [id] = coming.splice(0, 1, `l${coming.length + made++}`);
      declare(id as string, picked);
    } else if (what === 'member') {
      const open: JoinNode =
        join === undefined || join.sealed ? openJoin(graph, `g${made++}`, 'parallel') : join;
      if (open !== join) known.push(open);
      join = open;
      declare(`a${made++}`, picked, [open]);
    } else if (what === 'seal') {
      if (join !== undefined) seal(graph, join);
    } else {
      const ready = known.filter(
        (node): node is ActionNode => node.kind === 'action' && node.phase === 'ready',
      );
      const node = ready[(needs[0] as number) % ready.length];
      if (node === undefined) continue;
      if (what === 'settle') settle(graph, node);
      else {
        const more = picked.filter((each): each is Node => typeof each !== 'string' && each !== node);
        const pending = more.filter(isPending);
        const may = pending.length > 0 && !allAbove(pending).has(node);
        expect(waitForMore(graph, node, pending)).toBe(may);
      }
    }
    for (const n of needs) {
      const node = pick(n);
      if (typeof node !== 'string') expect(blockerOf(graph, node) !== undefined).toBe(isBlocked(graph, node));
    }
  }
  return cycles;
}

describe('however a graph grows', () => {
  test('it says of each action whether it waits for itself, and whether for what nobody has declared', () => {
    let cycles = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
        cycles += play(steps);
      }),
      { numRuns: moreRuns(300) },
    );
    expect(cycles).toBeGreaterThan(50);
  });
});
