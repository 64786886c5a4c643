import type { ErrorJson } from '../lib/errors.ts';
import type { SkipReason } from '../log/action.ts';

/** How many actions the message about a cycle names. */
const MAX_PATH = 8;

/** How many dependencies are followed from one node before its level is raised instead. */
const MAX_LOOKED_AT = 100;

/** Nodes that must end before `node` can: the dependencies of an action, or the open members of a join. */
export const dependenciesOf = (node: Node): Iterable<Node> =>
  node.kind === 'action' ? node.waitsFor : node.open;

/** Nodes that cannot end before `node` has. */
function* allDependentsOf(node: Node): Iterable<Node> {
  yield* node.dependents;
  yield* node.joins;
}

/**
 * Whether `node` waits for itself after it got more dependencies. No node has a higher level than its dependents, so only
 * dependencies of its own level can lead back to it. If there are many of those, its dependents get a higher level. Each
 * edge is then visited once per level: Bender, Fineman, Gilbert and Tarjan, "A New Approach to Incremental Cycle Detection
 * and Related Problems".
 */
export function waitsForItself(graph: Graph, node: Node): boolean {
  const level = levelFor(graph, node);
  if (level > 0) setLevel(graph, node, level);
  if ((node.dependents.length === 0 && node.joins.length === 0) || !mayBeAbove(graph, node, level))
    return false;
  const peers = new Set<Node>([node]);
  const all = addPeers(graph, node, level, peers);
  return all === 'itself' || raise(graph, node, all === 'all' ? level : level + 1, peers);
}

const levelOf = ({ levels }: Graph, node: Node): number => levels.get(node) ?? 0;

function setLevel(graph: Graph, node: Node, level: number): void {
  graph.levels.set(node, level);
}

/** The highest level among the node and its dependencies. */
function levelFor(graph: Graph, node: Node): number {
  let level = levelOf(graph, node);
  for (const each of dependenciesOf(node)) level = Math.max(level, levelOf(graph, each));
  return level;
}

/** Whether a dependent may also be a dependency, directly or not. */
function mayBeAbove(graph: Graph, node: Node, level: number): boolean {
  for (const each of allDependentsOf(node)) if (isPending(each) && levelOf(graph, each) <= level) return true;
  return false;
}

/** Collects dependencies of `from` that have its level, direct or not, up to a limit. */
function addPeers(graph: Graph, from: Node, level: number, peers: Set<Node>): 'all' | 'some' | 'itself' {
  let looked = 0;
  const work: Node[] = [from];
  for (let at = work.pop(); at !== undefined; at = work.pop())
    for (const node of dependenciesOf(at)) {
      if (node === from) return 'itself';
      if (++looked > MAX_LOOKED_AT) return 'some';
      if (!isPending(node) || peers.has(node) || levelOf(graph, node) !== level) continue;
      peers.add(node);
      work.push(node);
    }
  return 'all';
}

/** Gives all dependents of `from` at least this level. Returns whether it meets a peer: then `from` waits for itself. */
function raise(graph: Graph, from: Node, level: number, peers: ReadonlySet<Node>): boolean {
  let meets = false;
  const work: Node[] = [from];
  for (let at = work.pop(); at !== undefined; at = work.pop())
    for (const node of allDependentsOf(at)) {
      if (!isPending(node)) continue;
      if (peers.has(node)) meets = true;
      if (node === from || levelOf(graph, node) >= level) continue;
      setLevel(graph, node, level);
      work.push(node);
    }
  return meets;
}

/**
 * The path from `node` back to itself, shortened for a message. The search follows dependents, which end with the node
 * and are therefore not searched again.
 */
export function cyclePath(node: Node): readonly string[] {
  const cameFrom = new Map<Node, Node>();
  const work: Node[] = [node];
  for (const at of work) {
    for (const next of allDependentsOf(at)) {
      if (next === node) return pathFrom(at, node, cameFrom);
      if (!isPending(next) || cameFrom.has(next)) continue;
      cameFrom.set(next, at);
      work.push(next); // iterating over an array also visits what is added on the way
    }
  }
  return [node.id];
}

function pathFrom(first: Node, node: Node, cameFrom: ReadonlyMap<Node, Node>): readonly string[] {
  const path = [node.id];
  for (let at: Node | undefined = first; at !== undefined && at !== node; at = cameFrom.get(at))
    path.push(at.id);
  path.push(node.id);
  return path.length <= MAX_PATH ? path : [...path.slice(0, MAX_PATH - 2), '…', node.id];
}

/** Nodes that only the rest of the turn, or its end, can end: they wait for undeclared ids or names, or may get members. */
function endsOfTurn({ unseen, unnamed, unsealed, held }: Graph): Set<Node> {
  const ends = new Set<Node>([...unsealed, ...held]);
  for (const waiting of [unseen, unnamed])
    for (const nodes of waiting.values()) for (const node of nodes) ends.add(node);
  return ends;
}

/** Whether the node cannot end before the model has written more, or has ended its turn. */
export function waitsForStream(graph: Graph, from: Node): boolean {
  const ends = endsOfTurn(graph);
  if (ends.size === 0) return false;
  const seen = new Set<Node>([from]);
  // Iterating over a Set also visits what is added on the way.
  for (const node of seen) {
    if (ends.has(node)) return true;
    for (const next of dependenciesOf(node)) if (isPending(next)) seen.add(next);
  }
  return false;
}

/** An action that has not ended. Ended actions are in the folded state only. */
export interface ActionNode {
  readonly kind: 'action';
  readonly id: string;
  phase: 'waiting' | 'ready' | 'ended';
  /** How many things it waits for: open dependencies, undeclared ids, a name, the end of its turn. */
  waiting: number;
  /** Its dependencies when it was bound. Some may have ended since. */
  readonly waitsFor: Node[];
  readonly dependents: ActionNode[];
  /** The joins that it belongs to. */
  readonly joins: readonly JoinNode[];
  /** True for a `<foreach>`: it creates the members of its joins and is not one of them. */
  readonly makesMembers: boolean;
}

/**
 * Several actions under one id: a `<parallel>`, or the actions that a `<foreach>` created from one. It succeeds when it is
 * sealed and all of its members have succeeded. It fails with the first member that fails. Joins last as long as the
 * session, because later turns may refer to them.
 */
export interface JoinNode {
  readonly kind: 'join';
  readonly id: string;
  /** `outside`: a value that is being loaded. Such a join has no members. */
  readonly source: 'parallel' | 'foreach' | 'outside';
  /** Ids of members in the order in which they joined: actions, and joins of a `<foreach>` in a `<parallel>`. */
  readonly members: string[];
  readonly open: Set<Node>;
  /** Whether no more members can join. */
  sealed: boolean;
  /** The id of the action whose failure made it fail. */
  failedBy: string | undefined;
  /** For `outside`: why the value could not be loaded. */
  error?: ErrorJson | undefined;
  readonly dependents: ActionNode[];
  readonly joins: readonly JoinNode[];
}

export type Node = ActionNode | JoinNode;

/** The unfinished actions of a session. `dependency-graph.ts` has the functions that change it. */
export interface Graph {
  readonly nodes: Map<string, ActionNode>;
  readonly joins: Map<string, JoinNode>;
  /** Actions that wait for an undeclared id, by that id. */
  readonly unseen: Map<string, ActionNode[]>;
  /** Actions that wait for an unknown name, by that name. They wait until the end of their turn at the latest. */
  readonly unnamed: Map<string, ActionNode[]>;
  /** Actions that wait for the end of their turn. */
  readonly held: Set<ActionNode>;
  /** The undeclared ids and unknown names that each action waits for. */
  readonly missing: Map<ActionNode, Set<string>>;
  /** Levels are topological: a node's level is never higher than its dependents'. Nodes without an entry are at level 0. */
  readonly levels: Map<Node, number>;
  /** Cached in this turn by `blockerOf`: the action that a node waits for until the turn ends. Undefined if there is none. */
  readonly blockers: Map<Node, ActionNode | undefined>;
  /** Each `<parallel>` that may still get members. */
  readonly unsealed: Set<JoinNode>;
  /** What the stream waits for, or last waited for in this turn: a sync action, or a closed `<parallel>`. */
  streamWaitsFor: Node | undefined;
}

export const createGraph = (): Graph => ({
  nodes: new Map(),
  joins: new Map(),
  unseen: new Map(),
  unnamed: new Map(),
  held: new Set(),
  missing: new Map(),
  levels: new Map(),
  blockers: new Map(),
  unsealed: new Set(),
  streamWaitsFor: undefined,
});

/** Why an action can never start. */
export type Deadlock =
  | { readonly kind: 'cycle'; readonly path: readonly string[] }
  /** The stream waits for the action, and only the stream could declare `id`. */
  | { readonly kind: 'unseen'; readonly id: string }
  /** The stream waits for the action, which waits for `id`, an action that starts when the turn has ended. */
  | { readonly kind: 'turn_end'; readonly id: string };

/** What follows from a change of the graph, in the order in which it belongs on the log. */
export type Change =
  | { readonly kind: 'ready'; readonly node: ActionNode }
  | {
      readonly kind: 'skip';
      readonly node: ActionNode;
      readonly reason: Exclude<SkipReason, 'if' | 'deadlock'>;
      readonly because?: string;
    }
  | { readonly kind: 'deadlock'; readonly node: ActionNode; readonly why: Deadlock }
  /** All members have ended. */
  | { readonly kind: 'closed'; readonly join: JoinNode };

export const isClosed = (join: JoinNode): boolean => join.sealed && join.open.size === 0;

/** Whether a dependency on `node` is still undecided. */
export const isPending = (node: Node): boolean =>
  node.kind === 'action' ? node.phase !== 'ended' : node.failedBy === undefined && !isClosed(node);
