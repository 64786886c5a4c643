import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { cannotListen } from '../../lib/errors.ts';
import { registerListener } from '../../tools/access/addresses.ts';
import { badRequest, type ErrorDeps, errorAnswer, headersTooLarge, requestTimeout } from './error-answer.ts';

export interface HttpHttpDeps extends ErrorDeps {
  readonly host: string;
  /** 0 for a free port. */
  readonly port: number;
  readonly limits: ServerLimits;
  readonly receive: (request: IncomingMessage, response: ServerResponse) => void;
}

export interface OpenHttp {
  readonly http: Server;
  readonly port: number;
}

/** The most connections waiting to be accepted. After a restart, all followers of streams reconnect at once. */
const BACKLOG = 4_096;

/**
 * Starts listening, with limits so that no client can hold a connection without sending a request in time, or flood the
 * server with one request.
 */
export async function openHttp({ host, port, limits, receive, ...deps }: HttpHttpDeps): Promise<OpenHttp> {
  const http = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkMs,
    // The guard checks this with a better message.
    requireHostHeader: false,
  });
  http.maxConnections = limits.connections;
  // One more than allowed, so that excess headers can be detected, because Node drops the rest silently.
  http.maxHeadersCount = limits.headers + 1;
  http.on('request', receive);
  // The client is told to continue when something reads the body. See `readBody`.
  http.on('checkContinue', receive);
  http.on('clientError', (thrown: NodeJS.ErrnoException, socket) => refuseRaw(thrown, socket, limits, deps));
  // Only connections with unread output are closed. A slow response has nothing to send yet.
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

/** Answers an invalid or late HTTP request, for which only a raw socket exists. */
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
        : badRequest('This is not an HTTP/1.1 request.');
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
 * Sent with every response. The console's libraries (React, xyflow, uPlot) set styles from scripts, which no style
 * policy restricts. Inline scripts and inline styles are forbidden, so that nothing a model wrote can become either.
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
  // Session data must not be cached. The console's files override this.
  'cache-control': 'no-store',
};

/** What one client, or all of them together, may use. */
export interface ServerLimits {
  /** The size of the headers. More is 431. */
  readonly headerBytes: number;
  readonly headers: number;
  /** The size of the body. More is 413, and the rest is not read. */
  readonly bodyBytes: number;
  /** The nesting of lists and objects. */
  readonly jsonDepth: number;
  /** The time to receive the headers, from the connection or the last response. Slower is 408. */
  readonly headersMs: number;
  /** The time to receive the body, too. */
  readonly requestMs: number;
  /** How long an idle connection is kept after a response. */
  readonly keepAliveMs: number;
  /** How long a client may leave a response unread. */
  readonly stalledMs: number;
  /** How often these times are checked. */
  readonly checkMs: number;
  /** The most connections at a time. Further ones are not accepted. */
  readonly connections: number;
  /**
   * Requests of a token, or of an address if no token is sent. The burst also limits how many may return at once after
   * a restart.
   */
  readonly perSecond: number;
  readonly burst: number;
  /** Invalid tokens from one address. */
  readonly failuresPerMinute: number;
  /** How long `drain` waits for requests in progress. */
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
