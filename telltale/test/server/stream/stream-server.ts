import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { toRuntimeError } from '../../../src/lib/errors.ts';
import type { Streams } from '../../../src/server/stream/create-streams.ts';
import { createStreams, type StreamsDeps } from '../../../src/server/stream/create-streams.ts';
import { connect, type SseClient } from './sse-client.ts';

export interface StreamServer {
  readonly streams: Streams;
  readonly errors: readonly unknown[];
  readonly port: number;
  follow(
    stream: string,
    options?: {
      readonly kind?: 'session' | 'run';
      readonly after?: number;
      readonly live?: boolean;
      readonly headers?: Readonly<Record<string, string>>;
    },
  ): Promise<SseClient>;
  headlines(): Promise<SseClient>;
  /** Bytes that wait in one socket, at the most. */
  mostWaiting(): number;
  close(): Promise<void>;
}

/** Streams behind a bare HTTP server: `/KIND/STREAM?after=N&live=0`, and `/headlines`. */
export async function serveStreams(
  deps: Pick<StreamsDeps, 'runtime'> & Partial<StreamsDeps>,
): Promise<StreamServer> {
  const errors: unknown[] = [];
  const streams = createStreams({
    clock: createSystemClock(),
    onError: (thrown) => errors.push(thrown),
    ...deps,
  });
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const [, kind, stream = ''] = url.pathname.split('/');
    const asked = request.headers['last-event-id'] ?? url.searchParams.get('after') ?? '0';
    const answered =
      kind === 'headlines'
        ? streams.headlines(request, response)
        : streams.serve(request, response, {
            kind: kind === 'run' ? 'run' : 'session',
            stream: decodeURIComponent(stream),
            after: Number(asked),
            live: url.searchParams.get('live') !== '0',
          });
    answered.catch((thrown: unknown) => {
      response.writeHead(500, { 'content-type': 'application/json' });
      response.end(JSON.stringify(toRuntimeError(thrown)));
    });
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const base = `http://127.0.0.1:${port}`;
  return {
    streams,
    errors,
    port,
    follow: (stream, { kind = 'session', after = 0, live = true, headers = {} } = {}) =>
      connect(`${base}/${kind}/${encodeURIComponent(stream)}?after=${after}&live=${live ? 1 : 0}`, headers),
    headlines: () => connect(`${base}/headlines`),
    mostWaiting: () => Math.max(0, ...[...sockets].map(({ writableLength }) => writableLength)),
    async close() {
      await streams.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
