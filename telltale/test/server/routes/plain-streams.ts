import type { ServerResponse } from 'node:http';
import { createLineJson } from '../../../src/events/line-json.ts';
import type { Streams } from '../../../src/server/stream/streams.ts';
import { hasEnded } from '../../../src/session/ending/has-ended.ts';
import type { Runtime } from '../../../src/session/runtime-types.ts';

const LOOK_MS = 10;

/** Event streams as clients see them, without anything that makes them fast. */
export function plainStreams({ store, watch }: Pick<Runtime, 'store' | 'watch'>): Streams {
  const open = new Set<ServerResponse>();
  const begin = (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('retry: 20\n\n');
    open.add(response);
    response.once('close', () => open.delete(response));
  };
  return {
    get clients() {
      return open.size;
    },
    async serve(_request, response, { kind, stream, after, live }) {
      begin(response);
      const json = createLineJson(kind, stream);
      if (live && kind === 'session')
        response.write(
          `data: ${JSON.stringify({ type: 'live.snapshot', session: stream, turn: 1, thoughts: [], response: '' })}\n\n`,
        );
      for (let next = after + 1; open.has(response); ) {
        const info = await store.info(stream);
        for (const line of await store.read(stream, { from: next }))
          response.write(`id: ${next++}\ndata: ${json(line)}\n\n`);
        if (info !== undefined && hasEnded(info.status) && next > info.head)
          response.end('event: end\ndata: {}\n\n');
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    },
    async headlines(_request, response) {
      begin(response);
      const unwatch = watch((event) => response.write(`data: ${JSON.stringify(event)}\n\n`));
      response.write('event: notice\ndata: {"kind":"ready"}\n\n');
      await new Promise<void>((resolve) => response.once('close', () => resolve()));
      unwatch();
    },
    async close() {
      for (const response of open) response.end('event: notice\ndata: {"kind":"closing"}\n\n');
    },
  };
}
