import type { LoadTokenizer } from '../../lib/tokens.ts';
import type { Fact, FoundCall, FoundSession, FoundSymbol } from '../../store/graph.ts';
import type { MemoryEdge, MemoryNode, MemoryView } from '../memory.ts';

export type SymbolNode = Extract<MemoryNode, { readonly kind: 'symbol' }>;

/** A node of an answer that is being put together. */
export interface DraftNode {
  readonly node: MemoryNode;
  /** The symbol, where it is one. */
  readonly symbol?: FoundSymbol;
  /** The call because of which it is here. */
  readonly call?: FoundCall;
  readonly score: number;
}

/** Gathers nodes, each once and by the best of its scores, and edges between them. */
export interface Draft {
  symbol(symbol: FoundSymbol, distance: number, score: number, call?: FoundCall): void;
  file(path: string, distance: number, score: number, parts?: FileParts): void;
  module(name: string, distance: number, score: number): void;
  fact(fact: Fact, distance: number, score: number): void;
  session(session: FoundSession, distance: number, score: number): void;
  edge(edge: MemoryEdge): void;
  has(key: string): boolean;
  drop(key: string): void;
  /** The best first. */
  nodes(): readonly DraftNode[];
  edges(): readonly MemoryEdge[];
}

export interface FileParts {
  readonly language?: string;
  readonly defines?: readonly string[];
}

export const placeOf = ({ path, line }: { readonly path: string; readonly line: number }): string =>
  `${path}:${line}`;

/** As edges name it. */
export function keyOf(node: MemoryNode): string {
  switch (node.kind) {
    case 'symbol':
    case 'file':
      return node.at;
    case 'module':
      return node.name;
    case 'fact':
    case 'decision':
      return node.id;
    case 'session':
      return node.session;
  }
}

export function createDraft(): Draft {
  const nodes = new Map<string, DraftNode>();
  const edges = new Map<string, MemoryEdge>();

  const put = (one: DraftNode) => {
    const key = keyOf(one.node);
    const before = nodes.get(key);
    if (before === undefined || before.node.distance > one.node.distance) nodes.set(key, one);
    else if (before.score < one.score) nodes.set(key, { ...before, score: one.score });
  };

  const addEdge = (edge: MemoryEdge) => {
    const key = `${edge.kind} ${edge.from} ${edge.to}`;
    if (!edges.has(key)) edges.set(key, edge);
  };

  return {
    symbol(symbol, distance, score, call) {
      const { kind, name, within, signature, doc } = symbol;
      const node: SymbolNode = {
        kind: 'symbol',
        what: kind,
        name: within === undefined || kind === 'heading' ? name : `${within}.${name}`,
        at: placeOf(symbol),
        signature,
        ...(doc === undefined ? {} : { doc }),
        distance,
      };
      put({ node, symbol, score, ...(call === undefined ? {} : { call }) });
    },
    file: (path, distance, score, parts = {}) =>
      put({ node: { kind: 'file', at: path, ...parts, distance }, score }),
    module: (name, distance, score) => put({ node: { kind: 'module', name, distance }, score }),
    fact({ kind, id, text, stale, session, commit, atMs, supersedes = [] }, distance, score) {
      const from = {
        ...(session === undefined ? {} : { session }),
        ...(commit === undefined ? {} : { commit }),
      };
      put({ node: { kind, id, text, stale, ...from, atMs, distance }, score });
      if (session !== undefined) addEdge({ kind: 'learned_in', from: id, to: session });
      for (const other of supersedes) addEdge({ kind: 'supersedes', from: id, to: other });
    },
    session: ({ session, title, atMs }, distance, score) =>
      put({ node: { kind: 'session', session, title, atMs, distance }, score }),
    edge: addEdge,
    has: (key) => nodes.has(key),
    drop: (key) => void nodes.delete(key),
    nodes: () => [...nodes.values()].sort((a, b) => b.score - a.score || a.node.distance - b.node.distance),
    edges: () => [...edges.values()],
  };
}

export interface QueryDeps {
  /** Absent: all may be seen. */
  readonly view?: MemoryView | undefined;
  /** Asked for only where an answer may be too long. */
  readonly tokenizer: LoadTokenizer;
  /** Lines of a file of the graph, from 1 on, both included; undefined where it cannot be read. */
  readonly readLines: (path: string, from: number, to: number) => Promise<readonly string[] | undefined>;
}
