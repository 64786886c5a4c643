import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface HttpServer {
  readonly port: number;
  readonly seen: readonly SeenRequest[];
}

/** A real server on loopback, gone when the test has ended. */
export async function httpServer(
  answer: (request: SeenRequest, response: ServerResponse) => void,
): Promise<HttpServer> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const whole = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') };
      seen.push(whole);
      answer(whole, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}
