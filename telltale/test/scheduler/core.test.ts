import { describe, expect, test } from 'vitest';
import {
  breakStreamDeadlocks,
  endTurn,
  openJoin,
  seal,
  settle,
  waitForMore,
} from '../../src/scheduler/dependency-graph.ts';
import { type ActionNode, createGraph } from '../../src/scheduler/graph.ts';
import { add, brief } from './graph-of.ts';

describe('the graph', () => {
  test('is searched for what blocks the stream only while something holds it', () => {
    const graph = createGraph();
    add(graph, 'later', ['nobody']);
    const first = add(graph, 'first').node;
    const sync = add(graph, 'sync', [first], { blocksStream: true }).node;
    let searches = 0;
    const missing = new (class extends Map<ActionNode, Set<string>> {
      override get size() {
        searches++;
        return super.size;
      }
    })(graph.missing);
    Object.assign(graph, { missing });
    searches = 0; // made as a copy of the other
    breakStreamDeadlocks(graph);
    expect(searches).toBe(1);
    settle(graph, sync);
    searches = 0;
    breakStreamDeadlocks(graph);
    expect(graph.streamWaitsFor).toBe(sync);
    expect(searches).toBe(0);
  });

  test('says what may start now, and nothing twice', () => {
    const graph = createGraph();
    const a = add(graph, 'a');
    const b = add(graph, 'b', [a.node]);
    const c = add(graph, 'c', [a.node, b.node]);
    expect([a, b, c].map(({ changes }) => brief(changes))).toEqual([['ready a'], [], []]);
    expect(brief(settle(graph, a.node))).toEqual(['ready b']);
    expect(brief(settle(graph, a.node))).toEqual([]);
    expect(brief(settle(graph, b.node))).toEqual(['ready c']);
  });

  test('keeps nothing of what has ended', () => {
    const graph = createGraph();
    let last: ActionNode = add(graph, 'n0').node;
    for (let i = 1; i <= 100; i++) {
      const { node } = add(graph, `n${i}`, [last]);
      settle(graph, last);
      expect(last.waitsFor).toEqual([]);
      expect(last.dependents).toEqual([]);
      last = node;
    }
    expect(graph.nodes.size).toBe(1);
    const lost = add(graph, 'x', ['nowhere']);
    expect(brief(endTurn(graph, 'well'))).toEqual(['skip x']);
    expect([lost.node.phase, graph.unseen?.size, graph.held?.size ?? 0]).toEqual(['ended', 0, 0]);
  });

  test('a join succeeds when it is sealed and all of its members have', () => {
    const graph = createGraph();
    const join = openJoin(graph, 'g', 'parallel');
    const a = add(graph, 'a', [], { joins: [join] });
    const z = add(graph, 'z', [join]);
    expect(brief(settle(graph, a.node))).toEqual([]);
    expect(z.node.phase).toBe('waiting');
    expect(brief(seal(graph, join))).toEqual(['closed g', 'ready z']);
  });

  test('a failure ends everything below it in one go, the nearest first', () => {
    const graph = createGraph();
    const a = add(graph, 'a');
    const b = add(graph, 'b', [a.node]);
    add(graph, 'c', [b.node]);
    add(graph, 'd', [a.node]);
    expect(brief(settle(graph, a.node, 'a'))).toEqual(['skip b', 'skip d', 'skip c']);
    expect(graph.nodes.size).toBe(0);
  });

  test('a wait that would be for itself is refused and leaves nothing behind', () => {
    const graph = createGraph();
    const a = add(graph, 'a');
    const b = add(graph, 'b', [a.node]);
    expect(waitForMore(graph, a.node, [b.node])).toBe(false);
    expect([a.node.phase, a.node.waiting, b.node.dependents]).toEqual(['ready', 0, []]);
    const c = add(graph, 'c', ['later']);
    expect(waitForMore(graph, a.node, [c.node])).toBe(true);
    expect(a.node.phase).toBe('waiting');
  });

  test('a long way round back to itself is a deadlock, and the message names a part of it', () => {
    const graph = createGraph();
    let last = add(graph, 'n0', ['end']).node;
    for (let i = 1; i < 50; i++) last = add(graph, `n${i}`, [last]).node;
    const [first] = add(graph, 'end', [last]).changes;
    expect(first).toMatchObject({ kind: 'deadlock', why: { kind: 'cycle' } });
    expect(first?.kind === 'deadlock' && first.why.kind === 'cycle' ? first.why.path : []).toHaveLength(8);
    expect(graph.nodes.size).toBe(0);
  });
});
