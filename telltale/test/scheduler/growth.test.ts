import { describe, expect, it } from 'vitest';
import type { DeclaredAction } from '../../src/log/action.ts';
import { closeParallel, type Declaration, openJoin, settle } from '../../src/scheduler/dependency-graph.ts';
import { createGraph, type Graph, type JoinNode, type Node } from '../../src/scheduler/graph.ts';
import { add } from './graph-of.ts';
import { CAUSE, stage } from './stage.ts';

/** A graph that counts how often one of its nodes is come upon, the newest excepted. */
function counted() {
  const graph = createGraph();
  let steps = 0;
  const watched = <N extends Node>(node: N): N => {
    const { kind } = node;
    return Object.defineProperty(node, 'kind', {
      get: () => {
        steps++;
        return kind;
      },
    });
  };
  return {
    graph,
    steps: () => steps,
    add: (id: string, needs: readonly (Node | string)[] = [], more: Partial<Declaration> = {}) =>
      watched(add(graph, id, needs, more).node),
    join: (id: string) => watched(openJoin(graph, id, 'parallel')),
  };
}
type Counted = ReturnType<typeof counted>;

const times = (n: number) => Array.from({ length: n }, (_, i) => i);

/** Each waits for the one before it, the first for `needs`. */
function chain(on: Counted, id: string, n: number, needs: readonly (Node | string)[] = []): Node {
  let last = on.add(`${id}0`, needs);
  for (const i of times(n).slice(1)) last = on.add(`${id}${i}`, [last]);
  return last;
}

/** A sync action: what the stream waited for before has ended. */
const sync = { blocksStream: true } as const;

const FAMILIES: readonly (readonly [string, (on: Counted, n: number) => void])[] = [
  ['a chain', (on, n) => chain(on, 'a', n)],
  [
    'a chain of forward references',
    (on, n) => {
      for (const i of times(n)) on.add(`a${n - i}`, [`a${n - i - 1}`]);
      on.add('a0', [on.add('first')]);
    },
  ],
  [
    'an action that needs all others',
    (on, n) => {
      on.add(
        'all',
        times(n).map((i) => on.add(`a${i}`)),
      );
    },
  ],
  [
    'many that wait for one late id, which waits for many',
    (on, n) => {
      for (const i of times(n)) on.add(`a${i}`, ['late']);
      on.add(
        'late',
        times(n).map((i) => on.add(`b${i}`)),
      );
    },
  ],
  [
    'late ids with a chain above all and a chain below all',
    (on, n) => {
      const above = chain(on, 'above', n);
      chain(
        on,
        'below',
        n,
        times(n).map((i) => `late${i}`),
      );
      for (const i of times(n)) on.add(`late${i}`, [above]);
    },
  ],
  [
    'late ids that each wait for one of their own, above a chain',
    (on, n) => {
      chain(
        on,
        'below',
        n,
        times(n).map((i) => `late${i}`),
      );
      for (const i of times(n)) on.add(`late${i}`, [on.add(`own${i}`)]);
    },
  ],
  [
    'members of a <parallel> with a chain above them, and one below it',
    (on, n) => {
      const above = chain(on, 'above', n);
      chain(on, 'below', n, ['g']);
      const joins: readonly JoinNode[] = [on.join('g')];
      for (const i of times(n)) on.add(`m${i}`, [above], { joins });
    },
  ],
  [
    'cycles that are broken beside what they all wait for',
    (on, n) => {
      const hub = on.add(
        'hub',
        times(n).map((i) => on.add(`a${i}`)),
      );
      for (const i of times(n)) on.add(`b${i}`, [hub, on.add(`c${i}`, [`b${i}`])]);
    },
  ],
  [
    'sync actions that wait, beside what waits for an id nobody has',
    (on, n) => {
      for (const i of times(n)) on.add(`a${i}`, ['nobody']);
      for (const i of times(n)) {
        const needed = on.add(`b${i}`);
        const waiting = on.add(`s${i}`, [needed], sync);
        settleAll(on.graph, needed, waiting);
      }
    },
  ],
  [
    'sync actions at the end of a chain that waits for an id nobody has',
    (on, n) => {
      const last = chain(on, 'a', n, ['nobody']);
      for (const i of times(n)) on.add(`s${i}`, [last], sync);
    },
  ],
  [
    'sync actions that fail beside a chain they also wait for',
    (on, n) => {
      on.add('waits', ['nobody']);
      const last = chain(on, 'a', n);
      for (const i of times(n)) {
        const needed = on.add(`b${i}`);
        on.add(`s${i}`, [last, needed], sync);
        if (needed.kind === 'action') settle(on.graph, needed, needed.id);
      }
    },
  ],
  [
    '<parallel>s that close, beside what waits for an id nobody has',
    (on, n) => {
      for (const i of times(n)) on.add(`a${i}`, ['nobody']);
      for (const i of times(n)) {
        const join = on.join(`g${i}`);
        const first = on.add(`b${i}`, [], { joins: [join] });
        const second = on.add(`c${i}`, [first], { joins: [join] });
        closeParallel(on.graph, join);
        settleAll(on.graph, first, second);
      }
    },
  ],
];

function settleAll(graph: Graph, ...nodes: readonly Node[]): void {
  for (const node of nodes) if (node.kind === 'action') settle(graph, node);
}

describe('taking actions in costs in proportion to how many there are, with', () => {
  it.each(FAMILIES)('%s', (_name, run) => {
    const steps = (n: number) => {
      const on = counted();
      run(on, n);
      return on.steps();
    };
    expect(steps(1000)).toBeLessThanOrEqual(3 * steps(500));
    expect(steps(1000)).toBeLessThan(30_000);
  });
});

describe('a name that nothing has is looked up as often as it may have come to stand for something, with', () => {
  const loopOver = (list: string, i: number) => {
    const action: DeclaredAction = {
      id: `p${i}`,
      kind: 'tool',
      mode: 'async',
      name: 'read',
      parameters: {},
    };
    return { in: list, as: 'item', actions: [action] };
  };

  it('many <foreach> over a target that is called again and again', () => {
    const lookups = (n: number) => {
      let asked = 0;
      const fetch = () => {
        asked++;
        return false;
      };
      const { scheduler, declare } = stage({ fetch });
      for (const i of times(2)) declare(`first${i}`, { name: 'search' });
      for (const i of times(n)) scheduler.declareForEach(loopOver('$search', i), CAUSE);
      for (const i of times(n)) declare(`a${i}`, { name: 'search' });
      return asked;
    };
    expect(lookups(200)).toBeLessThan(3 * lookups(100));
  });
});
