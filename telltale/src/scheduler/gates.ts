import { blockedUntilTurnEnd } from './cycles.ts';
import { type ActionNode, type Change, type Gate, type Graph, isPending, type Node } from './graph.ts';
import { close, deadlock, doom, end, spoiltBy } from './propagate.ts';

/** An id that was waited for is there now. */
export function appear(graph: Graph, node: Node): void {
  if (graph.unseen?.delete(node.id) !== true) return;
  for (const dependent of node.dependents) dependent.waitsFor.push(node);
}

/** `listed`: whether its output is one of the gate's. */
export function join(gate: Gate, member: Node, listed = true): void {
  if (listed) gate.members.push(member.id);
  gate.open.add(member);
}

/** A collection that actions will join. */
export function openGate(graph: Graph, id: string, of: Gate['of'], gates: readonly Gate[] = []): Gate {
  const dependents = graph.unseen?.get(id) ?? [];
  const gate: Gate = {
    kind: 'gate',
    id,
    of,
    members: [],
    open: new Set(),
    sealed: false,
    failedBy: undefined,
    dependents,
    gates,
  };
  graph.gates ??= new Map();
  graph.gates.set(id, gate);
  if (of === 'parallel') {
    graph.unsealed ??= new Set();
    graph.unsealed.add(gate);
  }
  appear(graph, gate);
  for (const outer of gates) join(outer, gate);
  return gate;
}

/** A member that ended before a restart. */
export function recall(graph: Graph, gate: Gate, id: string, because: string | undefined): Change[] {
  const changes: Change[] = [];
  gate.members.push(id);
  if (because !== undefined) spoil(graph, gate, because, changes);
  return changes;
}

/** Fails a gate, and with it what depends on it. */
export function spoil(graph: Graph, gate: Gate, because: string, changes: Change[] = []): Change[] {
  const doomed: ActionNode[] = [];
  for (const spoilt of spoiltBy([gate], because)) doom(spoilt.dependents, because, doomed, changes);
  for (const node of doomed) end(graph, node, because, changes);
  return changes;
}

/** No further member will come. */
export function seal(graph: Graph, gate: Gate, changes: Change[] = []): Change[] {
  if (gate.sealed) return changes;
  gate.sealed = true;
  graph.unsealed?.delete(gate);
  if (gate.open.size === 0) close(gate, changes);
  return changes;
}

/** A parallel has closed and holds up the stream: what in it waits for the turn's end would wait for ever. */
export function closeParallel(graph: Graph, gate: Gate): Change[] {
  if (gate.sealed) return [];
  const changes = seal(graph, gate);
  const blocked = blockedUntilTurnEnd(graph);
  if (blocked.size === 0) return changes;
  for (const member of [...gate.open]) {
    const why = blocked.get(member);
    if (why === undefined || !isPending(member)) continue;
    const actions = member.kind === 'action' ? [member] : [...member.open];
    for (const node of actions)
      if (node.kind === 'action' && node.phase === 'waiting')
        deadlock(graph, node, blocked.get(node) ?? why, changes);
  }
  return changes;
}
