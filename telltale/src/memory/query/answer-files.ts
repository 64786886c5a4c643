import type { Fact, GraphStore } from '../../store/graph.ts';
import type { MemoryAnswer, MemoryNode } from '../memory.ts';

/** Files that define a symbol by which a fact goes stale, as many as the store takes. */
const FILES_A_SYMBOL = 16;

type FactNode = Extract<MemoryNode, { readonly kind: 'fact' | 'decision' }>;
const isFact = (node: MemoryNode): node is FactNode => node.kind === 'fact' || node.kind === 'decision';

/** The files that an answer speaks of: where its nodes stand, and what its facts are about. */
export async function answerFiles(
  store: GraphStore,
  graph: string,
  { nodes }: MemoryAnswer,
): Promise<readonly string[]> {
  const places = nodes.flatMap((node) =>
    node.kind === 'symbol' || node.kind === 'file' ? [node.at.replace(/:\d+$/, '')] : [],
  );
  const facts = await store.facts(
    graph,
    nodes.filter(isFact).map(({ id }) => id),
  );
  const about = await Promise.all(facts.map((fact) => factFiles(store, graph, fact)));
  return [...new Set([...places, ...about.flat()])];
}

/** The files by whose change a fact goes stale. */
export async function factFiles(
  store: GraphStore,
  graph: string,
  { about }: Fact,
): Promise<readonly string[]> {
  const files = await Promise.all(
    about.map(async ({ path, symbol }) =>
      path === undefined
        ? (await store.symbols(graph, symbol ?? '', FILES_A_SYMBOL)).map((each) => each.path)
        : [path],
    ),
  );
  return files.flat();
}

/** The answer, its facts marked stale where the graph has not heard yet that their files changed. */
export async function withStaleFacts(
  store: GraphStore,
  graph: string,
  answer: MemoryAnswer,
  hasChanged: (path: string) => boolean,
): Promise<MemoryAnswer> {
  const ids = answer.nodes.filter(isFact).map(({ id }) => id);
  if (ids.length === 0) return answer;
  const changed = new Map<string, readonly string[]>();
  for (const fact of await store.facts(graph, ids))
    changed.set(fact.id, (await factFiles(store, graph, fact)).filter(hasChanged));
  const nodes = answer.nodes.map((node) =>
    isFact(node)
      ? { ...node, stale: [...new Set([...node.stale, ...(changed.get(node.id) ?? [])])].sort() }
      : node,
  );
  return { ...answer, nodes };
}
