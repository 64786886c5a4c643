import type { GraphStore } from '../graph.ts';
import { createGraphStore } from '../sqlite/graph/graph-store.ts';
import type { MemoryHome } from './memory-home.ts';

const SETTINGS = { path: null, durability: 'process', lockTimeoutMs: 0, maxPages: null } as const;

/** The home's graphs: a SQLite database in memory, which is loaded when the first of its stores asks. */
export function openHomeGraphs(home: MemoryHome): Promise<GraphStore> {
  home.graphs ??= import('../sqlite/graph/serve-graph-here.ts').then(
    ({ serveGraphHere }) => serveGraphHere(SETTINGS, 'memory').graphs,
  );
  return home.graphs;
}

/** One store's view of them: they outlive it, but it answers no more when it is closed. */
export function guardGraphs(graphs: GraphStore, refuse: () => void): GraphStore {
  return createGraphStore(async (op, ...args) => {
    refuse();
    return (graphs[op] as (...args: unknown[]) => Promise<never>)(...args);
  });
}
