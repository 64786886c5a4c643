import type { GraphStore } from '../../graph.ts';
import type { GraphArgs, GraphOp, GraphResult } from './graph-messages.ts';

/** Has one operation done, wherever the tables are. */
export type AskGraph = <Op extends GraphOp>(op: Op, ...args: GraphArgs<Op>) => Promise<GraphResult<Op>>;

/** The port over something that does one operation at a time. */
export function createGraphStore(ask: AskGraph): GraphStore {
  return {
    files: (graph) => ask('files', graph),
    write: (graph, change) => ask('write', graph, change),
    imports: (graph, after, limit) => ask('imports', graph, after, limit),
    resolve: (graph, resolved) => ask('resolve', graph, resolved),
    search: (graph, words, options) => ask('search', graph, words, options),
    symbols: (graph, name, limit) => ask('symbols', graph, name, limit),
    symbolsOf: (graph, path, limit) => ask('symbolsOf', graph, path, limit),
    callersOf: (graph, symbol, limit) => ask('callersOf', graph, symbol, limit),
    calleesOf: (graph, symbol, limit) => ask('calleesOf', graph, symbol, limit),
    importsOf: (graph, path, limit) => ask('importsOf', graph, path, limit),
    importersOf: (graph, path, limit) => ask('importersOf', graph, path, limit),
    learn: (graph, facts) => ask('learn', graph, facts),
    factsAbout: (graph, about, limit) => ask('factsAbout', graph, about, limit),
    facts: (graph, ids) => ask('facts', graph, ids),
    noteSession: (graph, session) => ask('noteSession', graph, session),
    sessionsOf: (graph, path, limit) => ask('sessionsOf', graph, path, limit),
    records: (graph, after, limit) => ask('records', graph, after, limit),
    learned: (graph, after, limit) => ask('learned', graph, after, limit),
    notes: (graph, after, limit) => ask('notes', graph, after, limit),
    stats: (graph) => ask('stats', graph),
    graphs: () => ask('graphs'),
    drop: (graph) => ask('drop', graph),
  };
}

/** Graphs that are open, until the store is closed. */
export interface OpenGraphs {
  readonly graphs: GraphStore;
  /** Answers what was asked before, then closes. All that comes later is refused with `store_closed`. */
  close(): Promise<void>;
}
