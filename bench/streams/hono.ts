import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Emitted, Emitter } from './emitter.ts';

/** Events that wait for a client; more are dropped, so that a server that is behind does not run out of memory. */
const MAX_QUEUED = 1_000;

/** Hono's own: `streamSSE` on its server for Node, an awaited `writeSSE` an event. */
export function serve(emitter: Emitter): Server {
  const app = new Hono();
  app.get('/:session', (context) =>
    streamSSE(context, async (stream) => {
      let queue: Emitted[] = [];
      let wake: () => void = () => undefined;
      const stop = emitter.subscribe(context.req.param('session'), (event) => {
        if (queue.length < MAX_QUEUED) queue.push(event);
        wake();
      });
      stream.onAbort(() => {
        stop();
        wake();
      });
      while (!stream.aborted) {
        const due = queue;
        queue = [];
        for (const event of due)
          await stream.writeSSE({
            data: JSON.stringify(event),
            ...('seq' in event ? { id: String(event.seq) } : {}),
          });
        if (queue.length === 0)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    }),
  );
  return createAdaptorServer({ fetch: app.fetch }) as Server;
}
