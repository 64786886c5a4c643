import { parentPort, workerData } from 'node:worker_threads';
import type { FromThread, ThreadSettings, ToThread } from '../messages.ts';
import { serveStore } from './serve-store.ts';

/** The thread's entry. In development Node strips the types; a release runs the compiled file, on Node 22.13 as well. */
if (parentPort !== null) {
  const port = parentPort;
  const tell = (message: FromThread) => port.postMessage(message);
  const serve = serveStore(workerData as ThreadSettings, tell, () => port.close());
  if (serve !== undefined) port.on('message', (message: ToThread) => serve(message));
}
