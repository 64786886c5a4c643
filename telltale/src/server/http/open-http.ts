import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { cannotListen } from '../../kernel/cannot-listen.ts';
import { registerListener } from '../../targets/access/own-addresses.ts';
import { type ErrorDeps, errorAnswer } from './error-answer.ts';
import { badRequest, headersTooLarge, requestTimeout } from './http-errors.ts';
import type { ServerLimits } from './limits.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

export interface HttpDeps extends ErrorDeps {
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  readonly limits: ServerLimits;
  readonly receive: (request: IncomingMessage, response: ServerResponse) => void;
}

export interface OpenHttp {
  readonly http: Server;
  readonly port: number;
}

/** Connections that wait to be accepted: after a restart all followers of streams come back at once. */
const BACKLOG = 4_096;

/** Listens. Nobody can hold a connection without asking something in time, or flood the server with one request. */
export async function openHttp({ host, port, limits, receive, ...deps }: HttpDeps): Promise<OpenHttp> {
  const http = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkMs,
    // The guard says it in words.
    requireHostHeader: false,
  });
  http.maxConnections = limits.connections;
  // One more than are allowed, so that what is too much can be told from what fits: Node drops the rest silently.
  http.maxHeadersCount = limits.headers + 1;
  http.on('request', receive);
  // The client is told to go on once somebody wants the body: see `readBody`.
  http.on('checkContinue', receive);
  http.on('clientError', (thrown: NodeJS.ErrnoException, socket) => refuseRaw(thrown, socket, limits, deps));
  // Only those that leave an answer unread: what takes long to be answered has nothing to send yet.
  http.setTimeout(limits.stalledMs, (socket) => {
    if (socket.writableLength > 0) socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    http.once('error', (thrown: NodeJS.ErrnoException) => reject(cannotListen(host, port, thrown)));
    http.listen({ port, host, backlog: BACKLOG }, resolve);
  });
  http.removeAllListeners('error');
  http.on('error', deps.onError);
  const taken = (http.address() as AddressInfo).port;
  http.once('close', registerListener(host, taken));
  return { http, port: taken };
}

/** What is no request of HTTP, or none in time: there is no response to answer with, only a connection. */
function refuseRaw(
  thrown: NodeJS.ErrnoException,
  socket: Duplex,
  limits: ServerLimits,
  deps: ErrorDeps,
): void {
  if (thrown.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const error =
    thrown.code === 'HPE_HEADER_OVERFLOW'
      ? headersTooLarge(`${limits.headerBytes} bytes, or than ${limits.headers} lines`)
      : thrown.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? requestTimeout()
        : badRequest('That is no request of HTTP/1.1.');
  const { status, body } = errorAnswer(error, deps);
  const text = JSON.stringify(body);
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${REASONS[status] ?? ''}\r\n${lines.join('')}\r\n${text}`, () =>
    socket.destroy(),
  );
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};
