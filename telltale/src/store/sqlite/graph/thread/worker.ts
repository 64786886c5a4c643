import { parentPort, workerData } from 'node:worker_threads';
import { toRuntimeError } from '../../../../lib/errors.ts';
import type { FromGraphThread, GraphSettings, ToGraphThread } from '../graph-store.ts';
import { type GraphServer, serveGraph } from './serve-graph.ts';

/** The thread's entry. */
if (parentPort !== null) {
  const port = parentPort;
  const tell = (message: FromGraphThread) => port.postMessage(message);
  const open = (): GraphServer | undefined => {
    try {
      return serveGraph(workerData as GraphSettings);
    } catch (error) {
      tell({ kind: 'refused', error: toRuntimeError(error).toJSON() });
      port.close();
      return undefined;
    }
  };
  const server = open();
  if (server !== undefined) {
    port.on('message', (message: ToGraphThread) => {
      switch (message.kind) {
        case 'requests':
          for (const request of message.requests) tell({ kind: 'reply', reply: server.answer(request) });
          return;
        case 'close':
          server.close();
          port.close();
      }
    });
    tell({ kind: 'opened' });
  }
}
