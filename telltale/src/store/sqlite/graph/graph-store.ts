import type { ErrorJson } from '../../../lib/errors.ts';
import type { GraphStore } from '../../graph.ts';
import { storeClosed } from '../../store-errors.ts';

/** Graphs that are opened by the first who asks. */
export interface OpenOnce {
  open(): Promise<GraphStore>;
  close(): Promise<void>;
}

export function createOpenOnce(openGraphs: () => Promise<OpenGraphs>, location: string): OpenOnce {
  let opening: Promise<OpenGraphs> | undefined;
  let isClosed = false;
  return {
    async open() {
      if (isClosed) throw storeClosed(location);
      opening ??= openGraphs();
      try {
        return (await opening).graphs;
      } catch (error) {
        opening = undefined; // a lock or a full disk may be gone the next time
        throw error;
      }
    },
    async close() {
      isClosed = true;
      const opened = await opening?.catch(() => undefined); // whoever asked was told
      await opened?.close();
    },
  };
}

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

/** What passes between a store's graphs and their thread. */

export type GraphOp = keyof GraphStore;
export type GraphArgs<Op extends GraphOp> = Parameters<GraphStore[Op]>;
export type GraphResult<Op extends GraphOp> = Awaited<ReturnType<GraphStore[Op]>>;

/** The same without promises: what the tables' own thread calls. */
export type GraphRows = { readonly [Op in GraphOp]: (...args: GraphArgs<Op>) => GraphResult<Op> };

export interface GraphRequest {
  readonly id: number;
  readonly op: GraphOp;
  readonly args: GraphArgs<GraphOp>;
}

export interface GraphSettings {
  /** The store's file; null in memory. */
  readonly path: string | null;
  readonly durability: 'power' | 'process';
  readonly lockTimeoutMs: number;
  readonly maxPages: number | null;
}

export type ToGraphThread =
  | { readonly kind: 'requests'; readonly requests: readonly GraphRequest[] }
  | { readonly kind: 'close' };

export type GraphReply =
  | { readonly id: number; readonly value: GraphResult<GraphOp> }
  | { readonly id: number; readonly error: ErrorJson };

export type FromGraphThread =
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly error: ErrorJson }
  | { readonly kind: 'reply'; readonly reply: GraphReply };
