import { type Graph, isPending, type Node } from './graph.ts';

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
