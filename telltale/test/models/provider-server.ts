import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface ProviderServer {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** How the next requests are answered. */
  answer: (response: ServerResponse, request: SeenRequest) => void | Promise<void>;
  /** Resolves when the client has closed a connection in mid-answer. */
  readonly clientGone: Promise<void>;
  readonly close: () => Promise<void>;
}

/** A provider's server on loopback that does what a test says: break off, stall, send rubbish. */
export async function startProviderServer(): Promise<ProviderServer> {
  const requests: SeenRequest[] = [];
  let gone: () => void = () => {};
  const clientGone = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const http: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const seen = {
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      requests.push(seen);
      response.on('close', () => {
        if (!response.writableFinished) gone();
      });
      void server.answer(response, seen);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const server: ProviderServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests,
    answer: (response) => {
      response.writeHead(500).end();
    },
    clientGone,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return server;
}

export const sse = (response: ServerResponse, frames: readonly string[]): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const frame of frames) response.write(frame);
};

export const json = (response: ServerResponse, status: number, body: unknown, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};
