import { NONE, put } from '../kernel/grow.ts';
import { forgetFree, found, lack } from './blocked.ts';
import { cyclePath, waitsForItself } from './cycles.ts';
import { appear, freeStream, join, seal } from './gates.ts';
import type { ActionNode, Change, Gate, Graph, Node } from './graph.ts';
import { deadlock, end, ready, satisfy, skip } from './propagate.ts';

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
  /** A name that it needs, and that stands for nothing yet. */
  readonly unnamed: string | undefined;
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
  const dependents = graph.unseen?.get(id) ?? [];
  const node: ActionNode = {
    kind: 'action',
    id,
    phase: 'waiting',
    waiting: 0,
    waitsFor: [],
    dependents,
    gates,
    makesMembers,
  };
  graph.nodes = put(graph.nodes, id, node);
  appear(graph, node);
  for (const gate of gates) join(gate, node, !makesMembers);
  return { node, changes: place(graph, node, declaration) };
}

function place(graph: Graph, node: ActionNode, declaration: Declaration): readonly Change[] {
  const { needs, held } = declaration;
  if (needs.failedBy !== undefined) return skip(graph, node, 'dependency', needs.failedBy, []);
  if (needs.itself) return deadlock(graph, node, { kind: 'cycle', path: [node.id, node.id] }, []);
  waitFor(graph, node, needs);
  if (declaration.unnamed !== undefined) awaitName(graph, node, declaration.unnamed);
  if (held === 'turn_failed') return skip(graph, node, 'turn_failed', undefined, []);
  if (held === 'until_turn_end') {
    graph.held ??= new Set();
    graph.held.add(node);
    node.waiting++;
  }
  if (node.waitsFor.length > 0 && waitsForItself(graph, node))
    return deadlock(graph, node, { kind: 'cycle', path: cyclePath(node) }, []);
  if (node.gates.length > 0 && node.waiting > 0) forgetFree(graph);
  if (declaration.holdsStream) {
    graph.holder = node;
    const changes = node.waiting === 0 ? NONE : freeStream(graph);
    if (changes.length > 0) return changes;
  }
  return node.waiting === 0 ? [ready(node)] : NONE;
}

function waitFor(graph: Graph, node: ActionNode, needs: Pick<Needs, 'nodes' | 'unseen'>): void {
  for (const needed of needs.nodes) {
    if (needed.dependents.at(-1) === node) continue; // named twice
    node.waitsFor.push(needed);
    needed.dependents.push(node);
    node.waiting++;
  }
  for (const id of needs.unseen) {
    graph.unseen ??= new Map();
    const waiting = graph.unseen.get(id);
    if (waiting?.at(-1) === node) continue;
    if (waiting === undefined) graph.unseen.set(id, [node]);
    else waiting.push(node);
    lack(graph, node, id);
    node.waiting++;
  }
}

/** It waits until something has that name. */
export function awaitName(graph: Graph, node: ActionNode, name: string): void {
  graph.unnamed ??= new Map();
  const waiting = graph.unnamed.get(name);
  if (waiting === undefined) graph.unnamed.set(name, [node]);
  else waiting.push(node);
  lack(graph, node, name);
  node.waiting++;
}

/** Those that wait for that name: each is to be given to `nameFound` or, where there is still nothing, to `awaitName`. */
export function takeAwaiting(graph: Graph, name: string): readonly ActionNode[] {
  const nodes = graph.unnamed?.get(name) ?? NONE;
  graph.unnamed?.delete(name);
  for (const node of nodes) {
    node.waiting--;
    found(graph, node, name);
  }
  return nodes;
}

/** No name is waited for any more. */
export const nameSettled = (node: ActionNode): Change[] => (node.waiting === 0 ? [ready(node)] : []);

/** The name that it waited for stands for what it needs now. */
export function nameFound(graph: Graph, node: ActionNode, needs: Needs): Change[] {
  if (needs.failedBy !== undefined) return skip(graph, node, 'dependency', needs.failedBy, []);
  waitFor(graph, node, needs);
  if (waitsForItself(graph, node)) return deadlock(graph, node, { kind: 'cycle', path: cyclePath(node) }, []);
  return node.waiting === 0 ? [ready(node)] : freeStream(graph, [], [node]);
}

/**
 * Lets an action that was ready wait for more: what its variables name only now. Says no, and changes nothing, where
 * it would wait for itself.
 */
export function waitForMore(graph: Graph, node: ActionNode, needed: readonly Node[]): boolean {
  const before = node.waitsFor.length;
  waitFor(graph, node, { nodes: needed, unseen: [] });
  if (node.waiting === 0) return false;
  if (!waitsForItself(graph, node)) {
    node.phase = 'waiting';
    forgetFree(graph);
    return true;
  }
  for (const added of node.waitsFor.splice(before))
    added.dependents.splice(added.dependents.lastIndexOf(node), 1);
  node.waiting = 0;
  return false;
}

/** An action has ended: well, or with `because` for its dependents. */
export function settle(graph: Graph, node: ActionNode, because?: string): Change[] {
  const changes: Change[] = [];
  end(graph, node, because, changes);
  return changes;
}

/** What was not declared will not be: skips what waits for it, as far as it is `among` these. */
export function giveUpUnseen(graph: Graph, among?: ReadonlySet<string>, changes: Change[] = []): Change[] {
  const { unseen } = graph;
  if (unseen === undefined) return changes;
  for (const [id, nodes] of [...unseen]) {
    if (among === undefined) unseen.delete(id);
    for (const node of nodes)
      if (node.phase === 'waiting' && (among === undefined || among.has(node.id)))
        skip(graph, node, 'unknown_dependency', id, changes);
  }
  return changes;
}

export type TurnEnding = 'well' | 'broken';

/** The model's stream has ended: what was held may go, or has to go without; what waited for a name looks for the last time. */
export function endTurn(graph: Graph, ended: TurnEnding): Change[] {
  const changes: Change[] = [];
  const { held } = graph;
  giveUpComing(graph, changes);
  graph.holder = undefined;
  forgetFree(graph);
  if (held === undefined) return changes;
  for (const node of [...held]) {
    if (node.phase === 'ended') continue;
    held.delete(node);
    if (ended === 'well') satisfy([node], changes);
    else skip(graph, node, 'turn_failed', undefined, changes);
  }
  return changes;
}

/** Nothing more comes in this turn: no member of a parallel, and nothing that has a name or an id which is waited for. */
function giveUpComing(graph: Graph, changes: Change[]): void {
  const { unsealed, unnamed } = graph;
  if (unsealed !== undefined) for (const gate of [...unsealed]) seal(graph, gate, changes);
  graph.unnamed = undefined;
  graph.lacking = undefined;
  for (const nodes of unnamed?.values() ?? []) satisfy(nodes, changes);
  giveUpUnseen(graph, undefined, changes);
}
