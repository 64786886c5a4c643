import type { ErrorJson } from '../lib/errors.ts';
import type { SkipReason } from '../log/action.ts';

/** Actions named in the message about a cycle. */
const MAX_PATH = 8;

/** Waits that are followed upwards from one node before its level tells it apart from what it waits for. */
const MAX_LOOKED_AT = 100;

/** What must end before `node` can: its open dependencies, or the open members of a gate. */
export const above = (node: Node): Iterable<Node> => (node.kind === 'action' ? node.waitsFor : node.open);

/** What cannot end before `node` has. */
function* below(node: Node): Iterable<Node> {
  yield* node.dependents;
  yield* node.gates;
}

/**
 * Whether `node` waits for itself, now that it waits for more. Nothing has a higher level than what waits for it: so
 * upwards only nodes of its own level have to be looked at, and once there are more of those than a few, what waits for
 * it gets a higher one. A wait is then passed as often as its level rises, however many actions share what they wait
 * for: Bender, Fineman, Gilbert and Tarjan, "A New Approach to Incremental Cycle Detection and Related Problems".
 */
export function waitsForItself(graph: Graph, node: Node): boolean {
  const level = levelFor(graph, node);
  if (level > 0) setLevel(graph, node, level);
  if ((node.dependents.length === 0 && node.gates.length === 0) || !mayBeAbove(graph, node, level))
    return false;
  const peers = new Set<Node>([node]);
  const all = addPeers(graph, node, level, peers);
  return all === 'itself' || raise(graph, node, all === 'all' ? level : level + 1, peers);
}

const levelOf = ({ levels }: Graph, node: Node): number => levels?.get(node) ?? 0;

function setLevel(graph: Graph, node: Node, level: number): void {
  graph.levels ??= new Map();
  graph.levels.set(node, level);
}

/** At least that of all it waits for. */
function levelFor(graph: Graph, node: Node): number {
  let level = levelOf(graph, node);
  if (graph.levels !== undefined)
    for (const each of above(node)) level = Math.max(level, levelOf(graph, each));
  return level;
}

/** Whether anything that waits for it can also be above it. */
function mayBeAbove(graph: Graph, node: Node, level: number): boolean {
  for (const each of below(node)) if (isPending(each) && levelOf(graph, each) <= level) return true;
  return false;
}

/** Adds what `from` waits for and what has its level, as far as that is found in a few steps. */
function addPeers(graph: Graph, from: Node, level: number, peers: Set<Node>): 'all' | 'some' | 'itself' {
  let looked = 0;
  const work: Node[] = [from];
  for (let at = work.pop(); at !== undefined; at = work.pop())
    for (const node of above(at)) {
      if (node === from) return 'itself';
      if (++looked > MAX_LOOKED_AT) return 'some';
      if (!isPending(node) || peers.has(node) || levelOf(graph, node) !== level) continue;
      peers.add(node);
      work.push(node);
    }
  return 'all';
}

/** Gives what waits for `from` at least this level. It comes to one of the peers where `from` waits for itself. */
function raise(graph: Graph, from: Node, level: number, peers: ReadonlySet<Node>): boolean {
  let meets = false;
  const work: Node[] = [from];
  for (let at = work.pop(); at !== undefined; at = work.pop())
    for (const node of below(at)) {
      if (!isPending(node)) continue;
      if (peers.has(node)) meets = true;
      if (node === from || levelOf(graph, node) >= level) continue;
      setLevel(graph, node, level);
      work.push(node);
    }
  return meets;
}

/**
 * The way from `node` back to itself, for a message: cut where it is long. It is looked for among what waits for it,
 * since that ends with it: what it waits for may go on, and be looked through again for the next.
 */
export function cyclePath(node: Node): readonly string[] {
  const cameFrom = new Map<Node, Node>();
  const work: Node[] = [node];
  for (const at of work) {
    for (const next of below(at)) {
      if (next === node) return pathFrom(at, node, cameFrom);
      if (!isPending(next) || cameFrom.has(next)) continue;
      cameFrom.set(next, at);
      work.push(next); // an array is walked with what is added on the way
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

/** What only the rest of the turn, or its end, can end: what waits for what nobody has declared, `<parallel>`s that are open. */
function endsOfTurn({ unseen, unnamed, unsealed, held }: Graph): Set<Node> {
  const ends = new Set<Node>([...(unsealed ?? []), ...(held ?? [])]);
  for (const waiting of [unseen, unnamed])
    for (const nodes of waiting?.values() ?? []) for (const node of nodes) ends.add(node);
  return ends;
}

/** Whether it cannot end before more is said: it waits for what nobody has declared, for a `<parallel>` that is open, or for the turn's end. */
export function awaitsMore(graph: Graph, from: Node): boolean {
  const ends = endsOfTurn(graph);
  if (ends.size === 0) return false;
  const seen = new Set<Node>([from]);
  // A Set is walked in the order of insertion, with what is added on the way.
  for (const node of seen) {
    if (ends.has(node)) return true;
    for (const next of above(node)) if (isPending(next)) seen.add(next);
  }
  return false;
}

/** An action that has not ended. Ended ones live on in the folded state only. */
export interface ActionNode {
  readonly kind: 'action';
  readonly id: string;
  phase: 'waiting' | 'ready' | 'ended';
  /** How much it waits for: open dependencies, ids not seen yet, a name, the end of its turn. */
  waiting: number;
  /** What it waited for when it was bound; some of it may have ended since. */
  readonly waitsFor: Node[];
  readonly dependents: ActionNode[];
  /** The collections it belongs to. */
  readonly gates: readonly Gate[];
  /** Whether it makes the members of its gates and is none of them: a `<foreach>`. */
  readonly makesMembers: boolean;
}

/**
 * Several actions under one id: a `<parallel>`, or what a `<foreach>` made of one action. It succeeds when it is sealed
 * and all its members have succeeded; it fails with the first of them. Gates last as long as the session: later turns
 * may name them.
 */
export interface Gate {
  readonly kind: 'gate';
  readonly id: string;
  /** `outside`: what is still being loaded by somebody else, and has no members. */
  readonly of: 'parallel' | 'foreach' | 'outside';
  /** Ids of members, in the order in which they joined: actions, and gates of a `<foreach>` in a `<parallel>`. */
  readonly members: string[];
  readonly open: Set<Node>;
  /** Whether no further member can come. */
  sealed: boolean;
  /** The failure that made it fail. */
  failedBy: string | undefined;
  /** Of `outside`: why it could not be had. */
  error?: ErrorJson | undefined;
  readonly dependents: ActionNode[];
  readonly gates: readonly Gate[];
}

export type Node = ActionNode | Gate;

/** What is open in a session. Owned and changed in place by whoever holds it; `core.ts` has the transitions. */
export interface Graph {
  readonly nodes: Map<string, ActionNode>;
  // Each of the others is made when it gets its first entry: most sessions need none of them.
  gates: Map<string, Gate> | undefined;
  /** Ids that somebody waits for and nobody has declared. */
  unseen: Map<string, ActionNode[]> | undefined;
  /** Actions that wait for a name to stand for something, by that name: until their turn has ended at the latest. */
  unnamed: Map<string, ActionNode[]> | undefined;
  /** Actions that wait for the end of their turn. */
  held: Set<ActionNode> | undefined;
  /** The ids and names among those two, by who waits for them. */
  lacking: Map<ActionNode, Set<string>> | undefined;
  /** What is above another in it has no higher level; who is not in here has 0. See `cycles.ts`. */
  levels: Map<Node, number> | undefined;
  /** What was found out in this turn: the action above that waits for its end, or undefined for what is free. See `blocked.ts`. */
  roots: Map<Node, ActionNode | undefined> | undefined;
  /** Parallels that may still get members. */
  unsealed: Set<Gate> | undefined;
  /** What the stream waits for, or waited for last in this turn: a sync action, or a parallel that has closed. */
  holder: Node | undefined;
}

export const createGraph = (): Graph => ({
  nodes: new Map(),
  gates: undefined,
  unseen: undefined,
  unnamed: undefined,
  held: undefined,
  lacking: undefined,
  levels: undefined,
  roots: undefined,
  unsealed: undefined,
  holder: undefined,
});

/** Why an action can never start. */
export type Deadlock =
  | { readonly kind: 'cycle'; readonly path: readonly string[] }
  /** Whoever waits for it holds up the stream that would have to bring `id`, or what has that name. */
  | { readonly kind: 'unseen'; readonly id: string }
  /** The same with `id`, an action that starts when the turn has ended. */
  | { readonly kind: 'turn_end'; readonly id: string };

/** What follows from a transition, in the order in which it belongs on the log. */
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
  | { readonly kind: 'closed'; readonly gate: Gate };

export const isClosed = (gate: Gate): boolean => gate.sealed && gate.open.size === 0;

/** Whether a dependency on `node` is still undecided. */
export const isPending = (node: Node): boolean =>
  node.kind === 'action' ? node.phase !== 'ended' : node.failedBy === undefined && !isClosed(node);
