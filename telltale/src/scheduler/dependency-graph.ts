import {
  type ActionNode,
  type Change,
  cyclePath,
  type Deadlock,
  dependenciesOf,
  type Graph,
  isClosed,
  isPending,
  type JoinNode,
  type Node,
  waitsForItself,
} from './graph.ts';

/** What an action depends on, as far as that is known when it is declared. */
export interface DependencyNeeds {
  readonly nodes: readonly Node[];
  /** Ids that are not declared yet. */
  readonly unseen: readonly string[];
  /** A dependency that has failed already. */
  readonly failedBy: string | undefined;
  /** Whether the action depends on itself. */
  readonly itself: boolean;
}

export interface Declaration {
  readonly id: string;
  readonly needs: DependencyNeeds;
  /** A name that the action needs and that stands for nothing yet. */
  readonly unnamed: string | undefined;
  readonly joins: readonly JoinNode[];
  /** Whether the action starts only at the end of its turn, or never because that turn failed. */
  readonly held: 'no' | 'until_turn_end' | 'turn_failed';
  /** Whether the stream waits for the action. Then nothing later in the turn can be what it waits for. */
  readonly blocksStream: boolean;
  /** True for a `<foreach>`: it creates the members of its joins and is not one of them. */
  readonly makesMembers: boolean;
}

/** Adds an action. The cost grows with its dependencies. Only an action that others wait for already can complete a cycle. */
export function declare(
  graph: Graph,
  declaration: Declaration,
): { readonly node: ActionNode; readonly changes: readonly Change[] } {
  const { id, joins, makesMembers } = declaration;
  const dependents = graph.unseen.get(id) ?? [];
  const node: ActionNode = {
    kind: 'action',
    id,
    phase: 'waiting',
    waiting: 0,
    waitsFor: [],
    dependents,
    joins: joins,
    makesMembers,
  };
  graph.nodes.set(id, node);
  resolveUnseen(graph, node);
  for (const join of joins) joinMember(join, node, !makesMembers);
  return { node, changes: addWaits(graph, node, declaration) };
}

function addWaits(graph: Graph, node: ActionNode, declaration: Declaration): readonly Change[] {
  const { needs, held } = declaration;
  if (needs.failedBy !== undefined) return skip(graph, node, 'dependency', needs.failedBy, []);
  if (needs.itself) return deadlock(graph, node, { kind: 'cycle', path: [node.id, node.id] }, []);
  waitFor(graph, node, needs);
  if (declaration.unnamed !== undefined) awaitName(graph, node, declaration.unnamed);
  if (held === 'turn_failed') return skip(graph, node, 'turn_failed', undefined, []);
  if (held === 'until_turn_end') {
    graph.held.add(node);
    node.waiting++;
  }
  if (node.waitsFor.length > 0 && waitsForItself(graph, node))
    return deadlock(graph, node, { kind: 'cycle', path: cyclePath(node) }, []);
  if (node.joins.length > 0 && node.waiting > 0) clearBlockers(graph);
  if (declaration.blocksStream) {
    graph.streamWaitsFor = node;
    const changes = node.waiting === 0 ? [] : breakStreamDeadlocks(graph);
    if (changes.length > 0) return changes;
  }
  return node.waiting === 0 ? [ready(node)] : [];
}

function waitFor(graph: Graph, node: ActionNode, needs: Pick<DependencyNeeds, 'nodes' | 'unseen'>): void {
  for (const needed of needs.nodes) {
    if (needed.dependents.at(-1) === node) continue; // named twice
    node.waitsFor.push(needed);
    needed.dependents.push(node);
    node.waiting++;
  }
  for (const id of needs.unseen) {
    const waiting = graph.unseen.get(id);
    if (waiting?.at(-1) === node) continue;
    if (waiting === undefined) graph.unseen.set(id, [node]);
    else waiting.push(node);
    addMissing(graph, node, id);
    node.waiting++;
  }
}

/** The action waits until something has that name. */
export function awaitName(graph: Graph, node: ActionNode, name: string): void {
  const waiting = graph.unnamed.get(name);
  if (waiting === undefined) graph.unnamed.set(name, [node]);
  else waiting.push(node);
  addMissing(graph, node, name);
  node.waiting++;
}

/** Removes and returns the actions that wait for a name. Pass each to `nameFound`, `nameSettled` or `awaitName`. */
export function removeAwaiting(graph: Graph, name: string): readonly ActionNode[] {
  const nodes = graph.unnamed.get(name) ?? [];
  graph.unnamed.delete(name);
  for (const node of nodes) {
    node.waiting--;
    removeMissing(graph, node, name);
  }
  return nodes;
}

/** The action waits for no name any more. */
export const nameSettled = (node: ActionNode): Change[] => (node.waiting === 0 ? [ready(node)] : []);

/** The name that the action waited for is known, and with it what the action depends on. */
export function nameFound(graph: Graph, node: ActionNode, needs: DependencyNeeds): Change[] {
  if (needs.failedBy !== undefined) return skip(graph, node, 'dependency', needs.failedBy, []);
  waitFor(graph, node, needs);
  if (waitsForItself(graph, node)) return deadlock(graph, node, { kind: 'cycle', path: cyclePath(node) }, []);
  return node.waiting === 0 ? [ready(node)] : breakStreamDeadlocks(graph, [], [node]);
}

/**
 * Adds dependencies to an action that was ready. Returns false and changes nothing if the action would then wait for
 * itself.
 */
export function waitForMore(graph: Graph, node: ActionNode, needed: readonly Node[]): boolean {
  const before = node.waitsFor.length;
  waitFor(graph, node, { nodes: needed, unseen: [] });
  if (node.waiting === 0) return false;
  if (!waitsForItself(graph, node)) {
    node.phase = 'waiting';
    clearBlockers(graph);
    return true;
  }
  for (const added of node.waitsFor.splice(before))
    added.dependents.splice(added.dependents.lastIndexOf(node), 1);
  node.waiting = 0;
  return false;
}

/** An action has ended. Without `because` it succeeded; with it, its dependents are skipped for that reason. */
export function settle(graph: Graph, node: ActionNode, because?: string): Change[] {
  const changes: Change[] = [];
  end(graph, node, because, changes);
  return changes;
}

/** Skips actions that wait for ids which will not be declared any more: all of them, or only those in `among`. */
export function skipUnseen(graph: Graph, among?: ReadonlySet<string>, changes: Change[] = []): Change[] {
  const { unseen } = graph;
  for (const [id, nodes] of [...unseen]) {
    if (among === undefined) unseen.delete(id);
    for (const node of nodes)
      if (node.phase === 'waiting' && (among === undefined || among.has(node.id)))
        skip(graph, node, 'unknown_dependency', id, changes);
  }
  return changes;
}

export type TurnEnding = 'well' | 'broken';

/** The model's stream has ended: actions that waited for that start or are skipped, and nobody waits for names any more. */
export function endTurn(graph: Graph, ended: TurnEnding): Change[] {
  const changes: Change[] = [];
  const { held } = graph;
  closeTurn(graph, changes);
  graph.streamWaitsFor = undefined;
  clearBlockers(graph);
  for (const node of [...held]) {
    if (node.phase === 'ended') continue;
    held.delete(node);
    if (ended === 'well') satisfy([node], changes);
    else skip(graph, node, 'turn_failed', undefined, changes);
  }
  return changes;
}

/** Nothing more is declared in this turn: no member of a `<parallel>`, and nothing with an awaited name or id. */
function closeTurn(graph: Graph, changes: Change[]): void {
  const { unsealed, unnamed } = graph;
  for (const join of [...unsealed]) seal(graph, join, changes);
  const waiting = [...unnamed.values()];
  unnamed.clear();
  graph.missing.clear();
  for (const nodes of waiting) satisfy(nodes, changes);
  skipUnseen(graph, undefined, changes);
}

/** Actions that waited for the node's id now depend on the node. */
function resolveUnseen(graph: Graph, node: Node): void {
  if (!graph.unseen.delete(node.id)) return;
  for (const dependent of node.dependents) {
    dependent.waitsFor.push(node);
    removeMissing(graph, dependent, node.id);
  }
}

/** `listed`: whether the member's output is one of the join's outputs. */
function joinMember(join: JoinNode, member: Node, listed = true): void {
  if (listed) join.members.push(member.id);
  join.open.add(member);
}

/** Opens a join that actions will belong to. */
export function openJoin(
  graph: Graph,
  id: string,
  of: JoinNode['source'],
  joins: readonly JoinNode[] = [],
): JoinNode {
  const dependents = graph.unseen.get(id) ?? [];
  const join: JoinNode = {
    kind: 'join',
    id,
    source: of,
    members: [],
    open: new Set(),
    sealed: false,
    failedBy: undefined,
    dependents,
    joins: joins,
  };
  graph.joins.set(id, join);
  if (of === 'parallel') {
    graph.unsealed.add(join);
  }
  resolveUnseen(graph, join);
  for (const outer of joins) joinMember(outer, join);
  return join;
}

/** Adds a member that ended before a restart. */
export function restoreMember(
  graph: Graph,
  join: JoinNode,
  id: string,
  because: string | undefined,
): Change[] {
  const changes: Change[] = [];
  join.members.push(id);
  if (because !== undefined) invalidate(graph, join, because, changes);
  return changes;
}

/** Makes a join fail and skips its dependents. */
export function invalidate(graph: Graph, join: JoinNode, because: string, changes: Change[] = []): Change[] {
  const skipped: ActionNode[] = [];
  for (const failed of failJoins([join], because))
    skipDependents(failed.dependents, because, skipped, changes);
  for (const node of skipped) end(graph, node, because, changes);
  return changes;
}

/** No more members will join. */
export function seal(graph: Graph, join: JoinNode, changes: Change[] = []): Change[] {
  if (join.sealed) return changes;
  join.sealed = true;
  graph.unsealed.delete(join);
  if (join.open.size === 0) closeJoin(join, changes);
  return changes;
}

/** A `<parallel>` has closed and the stream waits for it. Its members that wait for the turn's end would wait forever. */
export function closeParallel(graph: Graph, join: JoinNode): Change[] {
  if (isClosed(join)) return [];
  const changes = seal(graph, join);
  graph.streamWaitsFor = join;
  return breakStreamDeadlocks(graph, changes);
}

/**
 * Skips actions that the stream waits for and that wait for the stream: for an id, a name, or the turn's end. `moved`: the
 * only nodes whose dependencies have changed since the last call.
 */
export function breakStreamDeadlocks(
  graph: Graph,
  changes: Change[] = [],
  moved?: readonly Node[],
): Change[] {
  const { streamWaitsFor } = graph;
  if (
    streamWaitsFor === undefined ||
    (streamWaitsFor.kind === 'action' ? streamWaitsFor.phase === 'ended' : isClosed(streamWaitsFor))
  )
    return changes;
  if (moved?.every((node) => blockerOf(graph, node) === undefined)) return changes;
  for (const node of waitingActionsIn(streamWaitsFor)) {
    let why = node.phase === 'waiting' ? blockerOf(graph, node) : undefined;
    while (why !== undefined && proceedWithoutName(graph, why, changes)) why = blockerOf(graph, node);
    if (why === undefined) continue;
    const { kind, id } = why;
    // A `<foreach>` whose list comes from its own actions waits for its own name.
    const isItself = kind === 'unseen' && id === node.id;
    deadlock(graph, node, isItself ? { kind: 'cycle', path: [id, id] } : { kind, id }, changes);
  }
  return changes;
}

/** Lets an action run without a name it waits for: a `$name` in parameters may be text. A `<foreach>` needs its list. */
function proceedWithoutName(graph: Graph, { id: name, root }: Blocker, changes: Change[]): boolean {
  const waiting = graph.unnamed.get(name);
  const at = waiting?.indexOf(root) ?? -1;
  if (waiting === undefined || at === -1 || root.makesMembers) return false;
  if (waiting.length === 1) graph.unnamed.delete(name);
  else waiting.splice(at, 1);
  if (graph.unseen.get(name)?.includes(root) !== true) removeMissing(graph, root, name);
  root.waiting--;
  if (root.waiting === 0) changes.push(ready(root));
  return true;
}

/** The waiting actions that a stream waits for. A failed join stays open as long as one of its members is. */
function waitingActionsIn(holder: Node): readonly ActionNode[] {
  // A running action that waits for others is a rollback. Its undo actions can be skipped.
  if (holder.kind === 'action') return holder.phase === 'ready' ? undoActionsOf(holder) : [holder];
  return [...holder.open].flatMap(waitingActionsIn);
}

const undoActionsOf = ({ waitsFor }: ActionNode): readonly ActionNode[] =>
  waitsFor.flatMap((node) => (node.kind === 'action' && node.phase === 'waiting' ? [node] : []));

/**
 * Ends an action and adds everything that follows to `changes`. With `because`, its dependents are skipped. Iterative,
 * because a chain may be thousands of actions long.
 */
function end(graph: Graph, first: ActionNode, because: string | undefined, changes: Change[]): void {
  const work: ActionNode[] = [first];
  const gatesLeft: ActionNode[] = [];
  for (let i = 0; i < work.length; i++) {
    const node = work[i] as ActionNode;
    if (!graph.nodes.has(node.id)) continue; // it has ended already
    graph.nodes.delete(node.id);
    node.phase = 'ended';
    graph.held.delete(node);
    graph.missing.delete(node);
    graph.levels.delete(node);
    graph.blockers.delete(node);
    if (because === undefined) satisfy(node.dependents, changes);
    else {
      skipDependents(node.dependents, because, work, changes);
      for (const join of failJoins(node.joins, because))
        skipDependents(join.dependents, because, work, changes);
    }
    // Otherwise the last action of a chain would keep the whole chain in memory.
    if (node.waitsFor.length > 0) node.waitsFor.length = 0;
    if (node.dependents.length > 0) node.dependents.length = 0;
    if (node.joins.length > 0) gatesLeft.push(node);
  }
  for (const node of gatesLeft) {
    // However a `<foreach>` ended, it creates no more actions.
    if (node.makesMembers) for (const join of node.joins) join.sealed = true;
    leaveJoins(node, changes);
  }
}

/** Each of these waits for one thing less, and may be ready. */
function satisfy(dependents: readonly ActionNode[], changes: Change[]): void {
  for (const dependent of dependents) {
    if (dependent.phase !== 'waiting') continue;
    dependent.waiting--;
    if (dependent.waiting === 0) changes.push(ready(dependent));
  }
}

/** Skips the dependents of a failure. Each is added to `work`, so that its own dependents follow. */
function skipDependents(
  dependents: ActionNode[],
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
  dependents.length = 0;
}

/** Makes these joins and the joins around them fail. Returns those that had not failed before. */
function failJoins(joins: readonly JoinNode[], because: string): readonly JoinNode[] {
  const failed: JoinNode[] = [];
  const work = [...joins];
  for (let join = work.pop(); join !== undefined; join = work.pop()) {
    if (join.failedBy !== undefined) continue;
    join.failedBy = because;
    failed.push(join);
    work.push(...join.joins);
  }
  return failed;
}

function leaveJoins(member: Node, changes: Change[]): void {
  for (const join of member.joins) {
    join.open.delete(member);
    if (isClosed(join)) closeJoin(join, changes);
  }
}

/** All members have ended. */
function closeJoin(join: JoinNode, changes: Change[]): void {
  changes.push({ kind: 'closed', join });
  if (join.failedBy === undefined) satisfy(join.dependents, changes);
  join.dependents.length = 0;
  leaveJoins(join, changes);
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

/** The root cause why a node cannot proceed before the turn has ended: an undeclared id or name, or the turn's end itself. */
export interface Blocker {
  readonly kind: 'unseen' | 'turn_end';
  readonly id: string;
  /** The action that waits for it. */
  readonly root: ActionNode;
}

/** The action waits for an id or a name that nothing has. */
function addMissing(graph: Graph, node: ActionNode, id: string): void {
  const ids = graph.missing.get(node);
  if (ids === undefined) graph.missing.set(node, new Set([id]));
  else ids.add(id);
}

/** The id or name is known. */
function removeMissing(graph: Graph, node: ActionNode, id: string): void {
  const ids = graph.missing.get(node);
  ids?.delete(id);
  if (ids?.size === 0) graph.missing.delete(node);
}

/** Why `from` cannot proceed before the turn has ended. Undefined if it can. */
export function blockerOf(graph: Graph, from: Node): Blocker | undefined {
  if (graph.missing.size + graph.held.size === 0) return undefined;
  const root = findBlocker(graph, from);
  if (root === undefined) return undefined;
  const [id] = graph.missing.get(root) ?? [];
  return id === undefined ? { kind: 'turn_end', id: root.id, root } : { kind: 'unseen', id, root };
}

const waitsForTurn = ({ missing, held }: Graph, node: Node): node is ActionNode =>
  node.kind === 'action' && (missing.has(node) || held.has(node));

/**
 * The dependency of `from`, or `from` itself, that waits for the turn. The results are cached, since many actions may
 * wait for the same one. `clearBlockers` drops them when a node gets more dependencies.
 */
function findBlocker(graph: Graph, from: Node): ActionNode | undefined {
  const { blockers } = graph;
  const path: { readonly node: Node; readonly rest: Iterator<Node> }[] = [];
  let node: Node | undefined = from;
  while (node !== undefined) {
    const known = blockers.get(node);
    const root = waitsForTurn(graph, node) ? node : known;
    if (root !== undefined && waitsForTurn(graph, root)) {
      blockers.set(node, root);
      for (const each of path) blockers.set(each.node, root);
      return root;
    }
    if (known !== undefined || !blockers.has(node)) {
      blockers.set(node, undefined); // replaced if the search below finds a blocker
      path.push({ node, rest: dependenciesOf(node)[Symbol.iterator]() });
    }
    node = nextOf(path);
  }
  return undefined;
}

/** The next dependency to visit in a depth-first search. Removes nodes from the path that have none left. */
function nextOf(path: { readonly rest: Iterator<Node> }[]): Node | undefined {
  for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
    for (let next = last.rest.next(); next.done !== true; next = last.rest.next())
      if (isPending(next.value)) return next.value;
    path.pop();
  }
  return undefined;
}

/** Nodes without a blocker may have one now. */
export function clearBlockers(graph: Graph): void {
  graph.blockers.clear();
}
