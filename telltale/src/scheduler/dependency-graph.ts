import {
  type ActionNode,
  above,
  type Change,
  cyclePath,
  type Deadlock,
  type Gate,
  type Graph,
  isClosed,
  isPending,
  type Node,
  waitsForItself,
} from './graph.ts';

/** What an action waits for, as it was bound to what is known at its declaration. */
export interface DependencyGraphNeeds {
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
  readonly needs: DependencyGraphNeeds;
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
  graph.nodes.set(id, node);
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
    const changes = node.waiting === 0 ? [] : freeStream(graph);
    if (changes.length > 0) return changes;
  }
  return node.waiting === 0 ? [ready(node)] : [];
}

function waitFor(
  graph: Graph,
  node: ActionNode,
  needs: Pick<DependencyGraphNeeds, 'nodes' | 'unseen'>,
): void {
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
  const nodes = graph.unnamed?.get(name) ?? [];
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
export function nameFound(graph: Graph, node: ActionNode, needs: DependencyGraphNeeds): Change[] {
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

/** An id that was waited for is there now. */
function appear(graph: Graph, node: Node): void {
  if (graph.unseen?.delete(node.id) !== true) return;
  for (const dependent of node.dependents) {
    dependent.waitsFor.push(node);
    found(graph, dependent, node.id);
  }
}

/** `listed`: whether its output is one of the gate's. */
function join(gate: Gate, member: Node, listed = true): void {
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

/**
 * Ends an action, well or with `because` for its dependents, and adds to `changes` all that follows from it. Iterative:
 * a chain may be thousands long.
 */
function end(graph: Graph, first: ActionNode, because: string | undefined, changes: Change[]): void {
  const work: ActionNode[] = [first];
  const gatesLeft: ActionNode[] = [];
  for (let i = 0; i < work.length; i++) {
    const node = work[i] as ActionNode;
    if (!graph.nodes.has(node.id)) continue; // it had ended before
    graph.nodes.delete(node.id);
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
function satisfy(dependents: readonly ActionNode[], changes: Change[]): void {
  for (const dependent of dependents) {
    if (dependent.phase !== 'waiting') continue;
    dependent.waiting--;
    if (dependent.waiting === 0) changes.push(ready(dependent));
  }
}

/** Skips what depends on a failure; each is put on `work`, so that its own dependents follow. */
function doom(dependents: ActionNode[], because: string, work: ActionNode[], changes: Change[]): void {
  for (const node of dependents) {
    if (node.phase === 'ended') continue;
    node.phase = 'ended';
    changes.push({ kind: 'skip', node, reason: 'dependency', because });
    work.push(node);
  }
  dependents.length = 0;
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

/** All its members have ended. */
function close(gate: Gate, changes: Change[]): void {
  changes.push({ kind: 'closed', gate });
  if (gate.failedBy === undefined) satisfy(gate.dependents, changes);
  gate.dependents.length = 0;
  leave(gate, changes);
}

function ready(node: ActionNode): Change {
  node.phase = 'ready';
  return { kind: 'ready', node };
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

export function deadlock(graph: Graph, node: ActionNode, why: Deadlock, changes: Change[]): Change[] {
  changes.push({ kind: 'deadlock', node, why });
  end(graph, node, node.id, changes);
  return changes;
}

/** What something waits for at last that cannot go on before the turn has ended: an id or name not seen, or a held action. */
export interface Blocker {
  readonly kind: 'unseen' | 'turn_end';
  readonly id: string;
  /** The action that lacks it, or is held. */
  readonly root: ActionNode;
}

/** `node` waits for an id, or for a name, that nothing has. */
function lack(graph: Graph, node: ActionNode, id: string): void {
  graph.lacking ??= new Map();
  const ids = graph.lacking.get(node);
  if (ids === undefined) graph.lacking.set(node, new Set([id]));
  else ids.add(id);
}

/** It is there. */
function found(graph: Graph, node: ActionNode, id: string): void {
  const ids = graph.lacking?.get(node);
  ids?.delete(id);
  if (ids?.size === 0) graph.lacking?.delete(node);
}

/** What `from` waits for at last and what only the turn's end can bring; undefined where it can go on before. */
export function blockerOf(graph: Graph, from: Node): Blocker | undefined {
  if ((graph.lacking?.size ?? 0) + (graph.held?.size ?? 0) === 0) return undefined;
  const root = rootOf(graph, from);
  if (root === undefined) return undefined;
  const [id] = graph.lacking?.get(root) ?? [];
  return id === undefined ? { kind: 'turn_end', id: root.id, root } : { kind: 'unseen', id, root };
}

const isRoot = ({ lacking, held }: Graph, node: Node): node is ActionNode =>
  node.kind === 'action' && (lacking?.has(node) === true || held?.has(node) === true);

/**
 * The action above `from`, or `from` itself, that waits for the turn's end. What was found out on the way is kept: many
 * wait for the same, and what is free stays so until it waits for more (`forgetFree`).
 */
function rootOf(graph: Graph, from: Node): ActionNode | undefined {
  graph.roots ??= new Map();
  const { roots } = graph;
  const path: { readonly node: Node; readonly rest: Iterator<Node> }[] = [];
  let node: Node | undefined = from;
  while (node !== undefined) {
    const known = roots.get(node);
    const root = isRoot(graph, node) ? node : known;
    if (root !== undefined && isRoot(graph, root)) {
      roots.set(node, root);
      for (const each of path) roots.set(each.node, root);
      return root;
    }
    if (known !== undefined || !roots.has(node)) {
      roots.set(node, undefined); // unless one is found above it, which is then what counts
      path.push({ node, rest: above(node)[Symbol.iterator]() });
    }
    node = nextOf(path);
  }
  return undefined;
}

/** The next one above those of the path, which loses what has none left. */
function nextOf(path: { readonly rest: Iterator<Node> }[]): Node | undefined {
  for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
    for (let next = last.rest.next(); next.done !== true; next = last.rest.next())
      if (isPending(next.value)) return next.value;
    path.pop();
  }
  return undefined;
}

/** What was free may wait for the turn's end now. */
export function forgetFree(graph: Graph): void {
  graph.roots = undefined;
}
