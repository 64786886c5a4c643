import { type Blocker, blockerOf, found } from './blocked.ts';
import { type ActionNode, type Change, type Gate, type Graph, isClosed, type Node } from './graph.ts';
import { close, deadlock, doom, end, ready, spoiltBy } from './propagate.ts';

/** An id that was waited for is there now. */
export function appear(graph: Graph, node: Node): void {
  if (graph.unseen?.delete(node.id) !== true) return;
  for (const dependent of node.dependents) {
    dependent.waitsFor.push(node);
    found(graph, dependent, node.id);
  }
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
  if (isClosed(gate)) return [];
  const changes = seal(graph, gate);
  graph.holder = gate;
  return freeStream(graph, changes);
}

/**
 * Ends what the stream waits for and what itself waits for the turn's end, which only the stream can bring. `moved`: what
 * alone may wait for that since it was last looked for.
 */
export function freeStream(graph: Graph, changes: Change[] = [], moved?: readonly Node[]): Change[] {
  const { holder } = graph;
  if (holder === undefined || (holder.kind === 'action' ? holder.phase === 'ended' : isClosed(holder)))
    return changes;
  if (moved?.every((node) => blockerOf(graph, node) === undefined)) return changes;
  for (const node of waitingIn(holder)) {
    let why = node.phase === 'waiting' ? blockerOf(graph, node) : undefined;
    while (why !== undefined && goWithoutName(graph, why, changes)) why = blockerOf(graph, node);
    if (why === undefined) continue;
    const { kind, id } = why;
    // The name that is waited for is its own: it is the list of a `<foreach>` whose rounds it needs.
    const isItself = kind === 'unseen' && id === node.id;
    deadlock(graph, node, isItself ? { kind: 'cycle', path: [id, id] } : { kind, id }, changes);
  }
  return changes;
}

/** A `$name` in parameters may be text: the action need not wait for it. A `<foreach>` cannot go without its list. */
function goWithoutName(graph: Graph, { id: name, root }: Blocker, changes: Change[]): boolean {
  const waiting = graph.unnamed?.get(name);
  const at = waiting?.indexOf(root) ?? -1;
  if (waiting === undefined || at === -1 || root.makesMembers) return false;
  if (waiting.length === 1) graph.unnamed?.delete(name);
  else waiting.splice(at, 1);
  if (graph.unseen?.get(name)?.includes(root) !== true) found(graph, root, name);
  root.waiting--;
  if (root.waiting === 0) changes.push(ready(root));
  return true;
}

/** The actions that a stream waits for. A gate that has failed is still open for as long as one of its members is. */
function waitingIn(holder: Node): readonly ActionNode[] {
  // One that runs and waits for others is a rollback: those it waits for can be ended.
  if (holder.kind === 'action') return holder.phase === 'ready' ? undoingFor(holder) : [holder];
  return [...holder.open].flatMap(waitingIn);
}

const undoingFor = ({ waitsFor }: ActionNode): readonly ActionNode[] =>
  waitsFor.flatMap((node) => (node.kind === 'action' && node.phase === 'waiting' ? [node] : []));
