import { parentPort, workerData } from 'node:worker_threads';
import type { FromBackend, ToBackend } from '../../grouped/messages.ts';
import type { ThreadSettings } from '../open-sqlite-store.ts';
import { type PackedGroup, unpackGroup } from '../open-sqlite-store.ts';
import { serveStore } from './serve-store.ts';

/** The thread's entry. In development Node strips the types; a release runs the compiled file, on Node 22.13 as well. */
if (parentPort !== null) {
  const port = parentPort;
  const tell = (message: FromBackend) => port.postMessage(message);
  const serve = serveStore(workerData as ThreadSettings, tell, () => port.close());
  if (serve !== undefined)
    port.on('message', (message: ToBackend | PackedGroup) =>
      serve(message.kind === 'packed' ? unpackGroup(message) : message),
    );
}
