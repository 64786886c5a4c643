import type { Role } from '../../client/api.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';

/** What a request is refused with before anybody acts on it. `status-of.ts` has the status of each. */

export const hostRefused = (host: string, isOwnOnly: boolean) =>
  new RuntimeError('host_refused', `This server is not called "${host}".`, {
    hint: isOwnOnly
      ? 'Ask for 127.0.0.1 or localhost, or start the server with --allow-host and that name.'
      : 'Ask for its address in numbers, or start the server with --allow-host and that name.',
  });

export const originRefused = (origin: string) =>
  new RuntimeError('origin_refused', `A page of ${origin} may not use this server.`, {
    hint: 'Open the console from the server itself, or start the server with --origin and that address.',
  });

export const badUrl = (found: string) =>
  new RuntimeError('bad_url', `The path of the request ${found}.`, {
    hint: 'Write a plain path such as /sessions, with names in it percent-encoded once.',
  });

export const urlTooLong = (chars: number, limit: number) =>
  new RuntimeError('url_too_long', `The address has ${chars} characters, ${limit} are allowed.`, {
    hint: 'Ask for less, or for a page at a time.',
  });

export const headersTooLarge = (limit: string) =>
  new RuntimeError('headers_too_large', `The request's head has more than ${limit}.`, {
    hint: 'Send fewer or shorter headers.',
  });

export const badRequest = (found: string, hint?: string) =>
  new RuntimeError('bad_request', found, {
    hint: hint ?? 'GET /openapi.json says what a request consists of.',
  });

export const requestTimeout = () =>
  new RuntimeError('request_timeout', 'The request did not come in time.', {
    hint: 'Send it at once.',
    retryable: true,
  });

/** Nobody is there to be told. */
export const clientGone = () =>
  new RuntimeError('client_gone', 'The client went away before its request was whole.', { retryable: true });

export const bodyTooLarge = (limit: number) =>
  new RuntimeError('body_too_large', `The body has more than ${limit} bytes.`, {
    hint: 'Send less; put what is large into a file and say where it is.',
  });

export const wrongMediaType = (found: string) =>
  new RuntimeError('wrong_media_type', `The body is ${found}.`, {
    hint: 'Send JSON, not compressed, with "content-type: application/json".',
  });

export const badJson = (found: string) =>
  new RuntimeError('bad_json', `The body is not JSON: ${found}.`, { hint: 'Correct it at that place.' });

export const jsonTooDeep = (limit: number) =>
  new RuntimeError('bad_json', `The body has lists and objects in each other more than ${limit} times.`, {
    hint: 'Send flatter values.',
  });

export const tokenMissing = () =>
  new RuntimeError('token_missing', 'This request has no token.', {
    hint: 'Send "authorization: Bearer TOKEN". "telltale token link" prints the link of a running server, "telltale token create NAME --role run" makes a new token.',
  });

export const tokenRefused = () =>
  new RuntimeError('token_refused', 'The token is not valid here.', {
    hint: 'It was revoked, belongs to another store, or the server has been restarted since: "telltale token link" prints the current link, "telltale token list" shows the tokens of the store.',
  });

export const roleNeeded = (needed: Role, has: Role) =>
  new RuntimeError('role_needed', `That needs the role "${needed}"; this token has "${has}".`, {
    hint: `Use another token: telltale token create NAME --role ${needed}`,
  });

export const rateLimited = (what: string) =>
  new RuntimeError('rate_limited', `Too many ${what}.`, {
    hint: 'Wait as long as Retry-After says, and ask less often.',
    retryable: true,
  });

export const routeUnknown = (path: string, near: string | undefined) =>
  new RuntimeError('route_unknown', `There is nothing at ${path}.`, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}GET /openapi.json lists what there is.`,
  });

export const consoleMissing = () =>
  new RuntimeError('route_unknown', 'This server comes without its console.', {
    hint: 'Build it: npm run build. Everything else is served; GET /openapi.json lists it.',
  });

export const methodNotAllowed = (method: string, path: string, allowed: readonly string[]) =>
  new RuntimeError('method_not_allowed', `${path} does not answer ${method}.`, {
    hint: `It answers ${allowed.join(', ')}.`,
  });

export const serverClosing = () =>
  new RuntimeError('closing', 'The server is closing.', {
    hint: 'Try again when it is back.',
    retryable: true,
  });

export const badIdempotencyKey = () =>
  new RuntimeError('bad_idempotency_key', 'The Idempotency-Key is none.', {
    hint: 'Send 1 to 255 printable characters of ASCII: a UUID for each thing to be done.',
  });

export const idempotencyMismatch = () =>
  new RuntimeError('idempotency_mismatch', 'That Idempotency-Key was used for another request.', {
    hint: 'Use a new key for each thing to be done, and the same one only to ask for it again.',
  });

export const idempotencyRunning = () =>
  new RuntimeError(
    'idempotency_running',
    'The first request with that Idempotency-Key is still being answered.',
    {
      hint: 'Ask again in a moment.',
      retryable: true,
    },
  );

export const idempotencyNotKept = (why: string) =>
  new RuntimeError('idempotency_not_kept', `That was done before; its answer had ${why} and was not kept.`, {
    hint: 'Look at what it made instead.',
  });

/** Our own mistake: what happened is told to whoever runs the server, under the id. */
export const serverFailed = (id: string) =>
  new RuntimeError('internal', `The server failed at this (${id}).`, {
    hint: 'What the server wrote to its standard error under that id says why.',
  });

export const badOrigin = (given: string) =>
  new RuntimeError('usage', `"${given}" is no origin: no page would be let in by it.`, {
    hint: 'Write scheme, name and port of the site, and no path: --origin https://app.example.com',
  });

export const badHostName = (given: string) =>
  new RuntimeError('usage', `"${given}" is no name of a host: no request would be let in by it.`, {
    hint: 'Write the name alone, without scheme or port: --allow-host agents.example.com',
  });

export const needsToken = (host: string) =>
  new RuntimeError('usage', `No client on another machine has a token for ${host}.`, {
    hint: 'Make one on the same store, then start again: telltale token create NAME --role admin. Or leave --host at 127.0.0.1.',
  });
