import { blockedUntilTurnEnd, cyclePath, waitsForItself } from './cycles.ts';
import {
  type ActionNode,
  type Change,
  type Deadlock,
  type Gate,
  type Graph,
  isClosed,
  isPending,
  type Node,
} from './graph.ts';

/** What an action waits for, as it was bound to what is known at its declaration. */
export interface Needs {
  readonly nodes: readonly Node[];
  /** Ids that nobody has declared yet. */
  readonly unseen: readonly string[];
  /** A dependency that has ended, and not well. */
  readonly failedBy: string | undefined;
  /** Whether it names itself. */
  readonly itself: boolean;
}

export interface Declaration {
  readonly id: string;
  readonly needs: Needs;
  readonly gates: readonly Gate[];
  /** Whether it starts only when its turn has ended, and how that one did if it has. */
  readonly held: 'no' | 'until_turn_end' | 'turn_failed';
  /** Whether the stream waits for it: then nothing that comes later in the turn can help it. */
  readonly holdsStream: boolean;
  /** Whether it makes the members of its gates and is none of them: a `<foreach>`. */
  readonly makesMembers: boolean;
}

/** Takes an action in. Costs as much as it has dependencies; a cycle can only begin where somebody waits for it already. */
export function declare(
  graph: Graph,
  declaration: Declaration,
): { readonly node: ActionNode; readonly changes: readonly Change[] } {
  const { id, gates, makesMembers } = declaration;
  const dependents = graph.unseen.get(id) ?? [];
  const node: ActionNode = {
    kind: 'action',
    id,
    phase: 'waiting',
    waiting: 0,
    waitsFor: [],
    dependents,
    gates,
  };
  graph.nodes.set(id, node);
  appear(graph, node);
  for (const gate of gates) join(gate, node, !makesMembers);
  return { node, changes: place(graph, node, declaration, []) };
}

function place(graph: Graph, node: ActionNode, declaration: Declaration, changes: Change[]): Change[] {
  const { needs, held } = declaration;
  if (needs.failedBy !== undefined) return skip(graph, node, 'dependency', needs.failedBy, changes);
  if (needs.itself) return deadlock(graph, node, { kind: 'cycle', path: [node.id, node.id] }, changes);
  waitFor(graph, node, needs);
  if (held === 'turn_failed') return skip(graph, node, 'turn_failed', undefined, changes);
  if (held === 'until_turn_end') {
    graph.held.add(node);
    node.waiting++;
  }
  if ((node.dependents.length > 0 || node.gates.length > 0) && node.waitsFor.length > 0) {
    if (waitsForItself(node)) return deadlock(graph, node, { kind: 'cycle', path: cyclePath(node) }, changes);
  }
  if (declaration.holdsStream && node.waiting > 0) {
    const why = blockedUntilTurnEnd(graph).get(node);
    if (why !== undefined) return deadlock(graph, node, why, changes);
  }
  if (node.waiting === 0) ready(node, changes);
  return changes;
}

/** An id that was waited for is there now. */
function appear(graph: Graph, node: Node): void {
  if (graph.unseen.size === 0 || !graph.unseen.delete(node.id)) return;
  for (const dependent of node.dependents) dependent.waitsFor.push(node);
}

function waitFor(graph: Graph, node: ActionNode, needs: Pick<Needs, 'nodes' | 'unseen'>): void {
  for (const needed of needs.nodes) {
    if (node.waitsFor.includes(needed)) continue;
    node.waitsFor.push(needed);
    needed.dependents.push(node);
    node.waiting++;
  }
  for (const id of needs.unseen) {
    const waiting = graph.unseen.get(id);
    if (waiting?.at(-1) === node) continue; // named twice
    if (waiting === undefined) graph.unseen.set(id, [node]);
    else waiting.push(node);
    node.waiting++;
  }
}

/**
 * Lets an action that was ready wait for more: what its variables name only now. Says no, and changes nothing, where
 * it would wait for itself.
 */
export function waitForMore(graph: Graph, node: ActionNode, needed: readonly Node[]): boolean {
  const before = node.waitsFor.length;
  waitFor(graph, node, { nodes: needed, unseen: [] });
  if (node.waiting === 0) return false;
  if (!waitsForItself(node)) {
    node.phase = 'waiting';
    return true;
  }
  for (const added of node.waitsFor.splice(before))
    added.dependents.splice(added.dependents.indexOf(node), 1);
  node.waiting = 0;
  return false;
}

function join(gate: Gate, member: Node, listed = true): void {
  if (listed) gate.members.push(member.id);
  gate.open.add(member);
}

/** A collection that actions will join. */
export function openGate(graph: Graph, id: string, of: Gate['of'], gates: readonly Gate[] = []): Gate {
  const dependents = graph.unseen.get(id) ?? [];
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
  graph.gates.set(id, gate);
  if (of === 'parallel') graph.unsealed.add(gate);
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
  graph.unsealed.delete(gate);
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

/** An action has ended: well, or with `because` for its dependents. Iterative: a chain may be thousands long. */
export function settle(graph: Graph, node: ActionNode, because?: string): Change[] {
  const changes: Change[] = [];
  end(graph, node, because, changes);
  return changes;
}

function end(graph: Graph, first: ActionNode, because: string | undefined, changes: Change[]): void {
  const work: ActionNode[] = [first];
  const gatesLeft: ActionNode[] = [];
  for (let i = 0; i < work.length; i++) {
    const node = work[i] as ActionNode;
    if (!graph.nodes.delete(node.id)) continue; // it had ended before
    node.phase = 'ended';
    graph.held.delete(node);
    if (because === undefined) satisfy(node.dependents, changes);
    else {
      doom(node.dependents, because, work, changes);
      for (const gate of spoiltBy(node.gates, because)) doom(gate.dependents, because, work, changes);
    }
    if (node.gates.length > 0) gatesLeft.push(node);
  }
  for (const node of gatesLeft) leave(node, changes);
}

function satisfy(dependents: readonly ActionNode[], changes: Change[]): void {
  for (const dependent of dependents) {
    if (dependent.phase !== 'waiting') continue;
    dependent.waiting--;
    if (dependent.waiting === 0) ready(dependent, changes);
  }
}

/** Skips what depends on a failure; each is put on `work`, so that its own dependents follow. */
function doom(
  dependents: readonly ActionNode[],
  because: string,
  work: ActionNode[],
  changes: Change[],
): void {
  for (const node of dependents) {
    if (node.phase === 'ended') continue;
    node.phase = 'ended';
    changes.push({ kind: 'skip', node, reason: 'dependency', because });
    work.push(node);
  }
}

/** These gates and those around them, as far as they had not failed before. */
function spoiltBy(gates: readonly Gate[], because: string): readonly Gate[] {
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

function close(gate: Gate, changes: Change[]): void {
  changes.push({ kind: 'closed', gate });
  if (gate.failedBy === undefined) satisfy(gate.dependents, changes);
  leave(gate, changes);
}

/** What was not declared will not be: skips what waits for it, as far as it is `among` these. */
export function giveUpUnseen(graph: Graph, among?: ReadonlySet<string>, changes: Change[] = []): Change[] {
  for (const [id, nodes] of [...graph.unseen]) {
    if (among === undefined) graph.unseen.delete(id);
    for (const node of nodes)
      if (node.phase === 'waiting' && (among === undefined || among.has(node.id)))
        skip(graph, node, 'unknown_dependency', id, changes);
  }
  return changes;
}

/** The model's stream has ended: what was held may go, or has to go without. */
export function endTurn(graph: Graph, ended: 'well' | 'broken'): Change[] {
  const changes: Change[] = [];
  for (const gate of [...graph.unsealed]) seal(graph, gate, changes);
  giveUpUnseen(graph, undefined, changes);
  for (const node of [...graph.held]) {
    if (node.phase === 'ended') continue;
    graph.held.delete(node);
    if (ended === 'broken') skip(graph, node, 'turn_failed', undefined, changes);
    else satisfy([node], changes);
  }
  return changes;
}

function ready(node: ActionNode, changes: Change[]): void {
  node.phase = 'ready';
  changes.push({ kind: 'ready', node });
}

function skip(
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

function deadlock(graph: Graph, node: ActionNode, why: Deadlock, changes: Change[]): Change[] {
  changes.push({ kind: 'deadlock', node, why });
  end(graph, node, node.id, changes);
  return changes;
}
