import { createServer, type Server } from 'node:http';
import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import { createStreams } from '../../telltale/src/server/stream/create-streams.ts';
import type { StreamRuntime } from '../../telltale/src/server/stream/stream-source.ts';
import type { Emitter } from './emitter.ts';

/** Ours: the streams of the daemon, on sessions that only talk. */
export function serve(emitter: Emitter): Server {
  const session = (id: string) => ({
    id,
    subscribe: (listener: Parameters<Emitter['subscribe']>[1]) => emitter.subscribe(id, listener),
    speech: () => undefined,
    result: new Promise(() => undefined),
  });
  const runtime = {
    store: {
      location: 'nowhere',
      info: async (stream: string) => ({ stream, kind: 'session', status: 'running', head: 0 }),
      watch: () => () => undefined,
    },
    watch: () => () => undefined,
    session,
  } as unknown as StreamRuntime;
  const streams = createStreams({
    runtime,
    clock: createSystemClock(),
    onError(thrown) {
      throw thrown;
    },
  });
  return createServer((request, response) => {
    const stream = request.url?.slice(1) ?? '';
    void streams.serve(request, response, { kind: 'session', stream, after: 0, live: true });
  });
}
