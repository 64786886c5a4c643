import type { IncomingMessage, ServerResponse } from 'node:http';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const RESPONSE_HEADERS = 'location, retry-after, idempotency-replayed, www-authenticate, x-telltale-session';
const PREFLIGHT_S = '600';

/**
 * Gives pages of the origins that were named leave to use the server; all others get none. Without cookies there is
 * nothing to be had by a page that its token does not give it. True where that is the whole answer.
 */
export function answerCors(
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  response: ServerResponse,
  origins: readonly string[],
): boolean {
  if (origins.length === 0) return false;
  response.setHeader('vary', 'origin');
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin)) return false;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', RESPONSE_HEADERS);
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
  response.writeHead(204, {
    'access-control-allow-methods': METHODS,
    // Clients of the UI protocols send headers of their own.
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
    'access-control-max-age': PREFLIGHT_S,
  });
  response.end();
  return true;
}
