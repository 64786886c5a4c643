import { fromJson } from '../../grouped/batch.ts';
import { storeClosed } from '../../store-errors.ts';
import type { GraphResult, GraphSettings } from './graph-store.ts';
import { type AskGraph, createGraphStore, type OpenGraphs } from './graph-store.ts';
import { serveGraph } from './thread/serve-graph.ts';

/** The same tables on the caller's own thread, for stores in memory: a thread would take longer to start than most of their runs. */
export function serveGraphHere(settings: GraphSettings, location: string): OpenGraphs {
  const server = serveGraph(settings);
  let isClosed = false;
  const ask: AskGraph = async (op, ...args) => {
    if (isClosed) throw storeClosed(location);
    // What is asked and answered is the caller's own, as if it had come from a thread.
    const reply = server.answer({ id: 0, op, args: structuredClone(args) });
    if ('error' in reply) throw fromJson(reply.error);
    return reply.value as GraphResult<typeof op>;
  };
  return {
    graphs: createGraphStore(ask),
    async close() {
      if (!isClosed) server.close();
      isClosed = true;
    },
  };
}
