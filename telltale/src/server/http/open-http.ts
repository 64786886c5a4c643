import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { cannotListen } from '../../lib/errors.ts';
import { registerListener } from '../../tools/access/addresses.ts';
import { badRequest, type ErrorDeps, errorAnswer, headersTooLarge, requestTimeout } from './error-answer.ts';

export interface HttpHttpDeps extends ErrorDeps {
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
export async function openHttp({ host, port, limits, receive, ...deps }: HttpHttpDeps): Promise<OpenHttp> {
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

/**
 * Of every answer. The console's parts (React, xyflow, uPlot) set styles by script, which no policy of styles concerns:
 * neither inline scripts nor inline styles are allowed, so that nothing a model wrote can become either.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // What sessions say is nobody's to keep; the console's files say otherwise.
  'cache-control': 'no-store',
};

/** What one client, or all of them, may take of a server. */
export interface ServerLimits {
  /** Of a request's head: beyond that it is 431. */
  readonly headerBytes: number;
  readonly headers: number;
  /** Of a request's body: beyond that it is 413, and no more of it is kept. */
  readonly bodyBytes: number;
  /** Lists and objects in each other. */
  readonly jsonDepth: number;
  /** Until a request's head is there, from the connection or the last answer on: what trickles is 408. */
  readonly headersMs: number;
  /** Until its body is there, too. */
  readonly requestMs: number;
  /** How long a connection without a request is kept after an answer. */
  readonly keepAliveMs: number;
  /** How long a client may leave an answer unread. */
  readonly stalledMs: number;
  /** How often the times above are looked at. */
  readonly checkMs: number;
  /** At a time; the next one is not accepted. */
  readonly connections: number;
  /** Requests of a token, or of an address where none is sent. The burst is also what may come back at once after a restart. */
  readonly perSecond: number;
  readonly burst: number;
  /** Tokens that are none, of an address. */
  readonly failuresPerMinute: number;
  /** How long `drain` waits for requests in hand. */
  readonly drainMs: number;
}

export const DEFAULT_LIMITS: ServerLimits = {
  headerBytes: 16 * 1024,
  headers: 100,
  bodyBytes: 1024 * 1024,
  jsonDepth: 200,
  headersMs: 10_000,
  requestMs: 60_000,
  keepAliveMs: 10_000,
  stalledMs: 120_000,
  checkMs: 2_000,
  connections: 10_000,
  perSecond: 200,
  burst: 2_000,
  failuresPerMinute: 10,
  drainMs: 10_000,
};
