import type { GraphStore } from '../../graph.ts';
import { storeClosed } from '../../store-errors.ts';
import type { OpenGraphs } from './graph-store.ts';

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
