import { type Graph, isPending, type Node } from './graph.ts';

/** Actions named in the message about a cycle. */
const MAX_PATH = 8;

/** What must end before `node` can: its open dependencies, or the open members of a gate. */
const above = (node: Node): Iterable<Node> => (node.kind === 'action' ? node.waitsFor : node.open);

/** What cannot end before `node` has. */
function* below(node: Node): Iterable<Node> {
  yield* node.dependents;
  yield* node.gates;
}

/**
 * Whether `node` waits for itself. Looks upwards and downwards by turns and is done when either side is: what was
 * declared in order has nothing below it, a chain of forward references nothing above, so both cost one step.
 */
export function waitsForItself(node: Node): boolean {
  const sides = [search(node, above), search(node, below)];
  for (;;) {
    for (const side of sides) {
      const { done, value } = side.next();
      if (done) return value;
    }
  }
}

function* search(from: Node, next: (node: Node) => Iterable<Node>): Generator<undefined, boolean> {
  const seen = new Set<Node>();
  const work: Node[] = [from];
  for (let at = work.pop(); at !== undefined; at = work.pop()) {
    for (const node of next(at)) {
      if (node === from) return true;
      if (!isPending(node) || seen.has(node)) continue;
      seen.add(node);
      work.push(node);
      yield;
    }
  }
  return false;
}

/** The way from `node` back to itself, for a message: cut where it is long. */
export function cyclePath(node: Node): readonly string[] {
  const cameFrom = new Map<Node, Node>();
  const work: Node[] = [node];
  for (let at = work.shift(); at !== undefined; at = work.shift()) {
    for (const next of above(at)) {
      if (next === node) return pathTo(at, node, cameFrom);
      if (!isPending(next) || cameFrom.has(next)) continue;
      cameFrom.set(next, at);
      work.push(next);
    }
  }
  return [node.id];
}

function pathTo(last: Node, first: Node, cameFrom: ReadonlyMap<Node, Node>): readonly string[] {
  const path = [first.id];
  for (let at: Node | undefined = last; at !== undefined && at !== first; at = cameFrom.get(at))
    path.push(at.id);
  path.push(first.id);
  path.reverse();
  return path.length <= MAX_PATH ? path : [...path.slice(0, MAX_PATH - 2), '…', first.id];
}

/** What everything that cannot go on before the turn has ended waits for at last: an unseen id or name, or a held action. */
export type Blocked = ReadonlyMap<Node, { readonly kind: 'unseen' | 'turn_end'; readonly id: string }>;

const NOTHING: Blocked = new Map();

/** Costs as much as there is that waits for the turn's end; nothing where nothing does. */
export function blockedUntilTurnEnd(graph: Graph): Blocked {
  const { unseen, unnamed, held } = graph;
  if ((unseen?.size ?? 0) + (unnamed?.size ?? 0) + (held?.size ?? 0) === 0) return NOTHING;
  const blocked = new Map<Node, { kind: 'unseen' | 'turn_end'; id: string }>();
  for (const waiting of [unseen, unnamed])
    for (const [id, nodes] of waiting ?? [])
      for (const node of nodes) if (isPending(node)) blocked.set(node, { kind: 'unseen', id });
  for (const node of held ?? [])
    if (isPending(node) && !blocked.has(node)) blocked.set(node, { kind: 'turn_end', id: node.id });
  // A Map is walked in the order of insertion, with what is added on the way.
  for (const [node, blocker] of blocked)
    for (const next of below(node)) if (isPending(next) && !blocked.has(next)) blocked.set(next, blocker);
  return blocked;
}
