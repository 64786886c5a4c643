import { above } from './cycles.ts';
import type { ActionNode, Graph, Node } from './graph.ts';
import { isPending } from './graph.ts';

/** What something waits for at last that cannot go on before the turn has ended: an id or name not seen, or a held action. */
export interface Blocker {
  readonly kind: 'unseen' | 'turn_end';
  readonly id: string;
  /** The action that lacks it, or is held. */
  readonly root: ActionNode;
}

/** `node` waits for an id, or for a name, that nothing has. */
export function lack(graph: Graph, node: ActionNode, id: string): void {
  graph.lacking ??= new Map();
  const ids = graph.lacking.get(node);
  if (ids === undefined) graph.lacking.set(node, new Set([id]));
  else ids.add(id);
}

/** It is there. */
export function found(graph: Graph, node: ActionNode, id: string): void {
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
