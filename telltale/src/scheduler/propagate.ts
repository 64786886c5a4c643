import { dropped } from '../kernel/grow.ts';
import {
  type ActionNode,
  type Change,
  type Deadlock,
  type Gate,
  type Graph,
  isClosed,
  type Node,
} from './graph.ts';

/**
 * Ends an action, well or with `because` for its dependents, and adds to `changes` all that follows from it. Iterative:
 * a chain may be thousands long.
 */
export function end(graph: Graph, first: ActionNode, because: string | undefined, changes: Change[]): void {
  const work: ActionNode[] = [first];
  const gatesLeft: ActionNode[] = [];
  for (let i = 0; i < work.length; i++) {
    const node = work[i] as ActionNode;
    if (!graph.nodes.has(node.id)) continue; // it had ended before
    graph.nodes = dropped(graph.nodes, node.id);
    node.phase = 'ended';
    graph.held?.delete(node);
    graph.lacking?.delete(node);
    graph.levels?.delete(node);
    graph.roots?.delete(node);
    if (because === undefined) satisfy(node.dependents, changes);
    else {
      doom(node.dependents, because, work, changes);
      for (const gate of spoiltBy(node.gates, because)) doom(gate.dependents, because, work, changes);
    }
    // Or the last of a chain keeps all of it in memory.
    if (node.waitsFor.length > 0) node.waitsFor.length = 0;
    if (node.dependents.length > 0) node.dependents.length = 0;
    if (node.gates.length > 0) gatesLeft.push(node);
  }
  for (const node of gatesLeft) {
    // However a `<foreach>` ended, it makes nothing any more.
    if (node.makesMembers) for (const gate of node.gates) gate.sealed = true;
    leave(node, changes);
  }
}

/** Each of these waits for one thing less. */
export function satisfy(dependents: readonly ActionNode[], changes: Change[]): void {
  for (const dependent of dependents) {
    if (dependent.phase !== 'waiting') continue;
    dependent.waiting--;
    if (dependent.waiting === 0) changes.push(ready(dependent));
  }
}

/** Skips what depends on a failure; each is put on `work`, so that its own dependents follow. */
export function doom(dependents: ActionNode[], because: string, work: ActionNode[], changes: Change[]): void {
  for (const node of dependents) {
    if (node.phase === 'ended') continue;
    node.phase = 'ended';
    changes.push({ kind: 'skip', node, reason: 'dependency', because });
    work.push(node);
  }
  dependents.length = 0;
}

/** These gates and those around them, as far as they had not failed before. */
export function spoiltBy(gates: readonly Gate[], because: string): readonly Gate[] {
  const spoilt: Gate[] = [];
  const work = [...gates];
  for (let gate = work.pop(); gate !== undefined; gate = work.pop()) {
    if (gate.failedBy !== undefined) continue;
    gate.failedBy = because;
    spoilt.push(gate);
    work.push(...gate.gates);
  }
  return spoilt;
}

function leave(member: Node, changes: Change[]): void {
  for (const gate of member.gates) {
    gate.open.delete(member);
    if (isClosed(gate)) close(gate, changes);
  }
}

/** All its members have ended. */
export function close(gate: Gate, changes: Change[]): void {
  changes.push({ kind: 'closed', gate });
  if (gate.failedBy === undefined) satisfy(gate.dependents, changes);
  gate.dependents.length = 0;
  leave(gate, changes);
}

export function ready(node: ActionNode): Change {
  node.phase = 'ready';
  return { kind: 'ready', node };
}

export function skip(
  graph: Graph,
  node: ActionNode,
  reason: 'dependency' | 'unknown_dependency' | 'turn_failed',
  because: string | undefined,
  changes: Change[],
): Change[] {
  changes.push(
    because === undefined ? { kind: 'skip', node, reason } : { kind: 'skip', node, reason, because },
  );
  end(graph, node, reason === 'dependency' ? because : node.id, changes);
  return changes;
}

export function deadlock(graph: Graph, node: ActionNode, why: Deadlock, changes: Change[]): Change[] {
  changes.push({ kind: 'deadlock', node, why });
  end(graph, node, node.id, changes);
  return changes;
}
