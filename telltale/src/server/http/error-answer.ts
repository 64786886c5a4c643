import type { ServerResponse } from 'node:http';
import { hasChanges } from '../../agent/runs/accept-changes.ts';
import type { ApiError, Role } from '../../client/api.ts';
import { RuntimeError } from '../../lib/errors.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ApiError;
}

/** Headers that belong to an error: `Retry-After`, `Allow`. */
const HEADERS = Symbol('headers');

/** Attaches headers to an error. */
export const withHeaders = (error: RuntimeError, headers: Readonly<Record<string, string>>): RuntimeError =>
  Object.assign(error, { [HEADERS]: headers });

/** The headers attached to an error. */
export const headersOf = (error: RuntimeError): Readonly<Record<string, string>> =>
  HEADERS in error ? (error[HEADERS] as ErrorAnswer['headers']) : {};

const RETRY_AFTER_S = '2';

export interface ErrorDeps {
  /** Creates an id by which an internal error can be found. */
  readonly newId: () => string;
  readonly onError: (thrown: unknown) => void;
}

/** The response for an error. Causes are not sent, because they may contain paths and addresses. */
export function errorAnswer(thrown: unknown, { newId, onError }: ErrorDeps): ErrorAnswer {
  const known = thrown instanceof RuntimeError && thrown.code !== 'internal' ? thrown : undefined;
  const error = known ?? mistake(thrown, newId(), onError);
  const { code, message, hint, retryable } = error;
  const status = statusOf(error);
  // An operator has to fix a broken store. One that is busy or closing recovers by itself.
  if (code.startsWith('store_') && status === 503) onError(error);
  return {
    status,
    headers: {
      ...(status === 503 || (status === 429 && retryable) ? { 'retry-after': RETRY_AFTER_S } : {}),
      ...(code === 'token_missing' ? { 'www-authenticate': 'Bearer' } : {}),
      ...(code === 'token_refused' ? { 'www-authenticate': 'Bearer error="invalid_token"' } : {}),
      ...headersOf(error),
    },
    body: {
      error: { code, message, ...(hint === undefined ? {} : { hint }), retryable },
      ...(hasChanges(error) ? { changes: error.changes } : {}),
    },
  };
}

function mistake(thrown: unknown, id: string, onError: ErrorDeps['onError']): RuntimeError {
  onError(new RuntimeError('internal', `A request failed (${id}).`, { cause: thrown }));
  return serverFailed(id);
}

/** Sends an error directly, for requests that are refused before they reach the app. */
export function sendError(response: ServerResponse, { status, headers, body }: ErrorAnswer): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/**
 * The codes of each status. Any other code is 503 if it is retryable, so that clients try again. Otherwise it is an
 * error in the request: 422.
 */
const CODES: readonly (readonly [status: number, codes: string])[] = [
  [
    400,
    `bad_request bad_json bad_url bad_cursor bad_idempotency_key name_malformed query_malformed usage token_malformed
     hook_stale`,
  ],
  [401, `token_missing token_refused bad_signature`],
  [403, `host_refused origin_refused role_needed not_permitted variable_denied`],
  [
    404,
    `route_unknown not_shared agent_unknown session_unknown stream_unknown run_unknown review_unknown artifact_unknown
     version_unknown event_unknown turn_unknown feed_unknown hook_unknown notification_unknown token_unknown action_unknown
     symbol_unknown file_unknown fact_unknown resource_unknown no_workflow no_agent no_memory not_indexed
     session_empty`,
  ],
  [405, `method_not_allowed`],
  [408, `request_timeout`],
  [
    409,
    `idempotency_running idempotency_not_kept conflict name_taken stream_exists stream_owned stream_moved stream_lost
     review_answered review_withdrawn review_ambiguous session_ambiguous session_completed session_ended session_led
     session_has_parent run_ambiguous run_ended run_leads run_has_parent run_id_taken agent_id_taken agent_in_code
     action_ended manifest_changed quarantined changes_undecided keys_busy token_exists hook_replayed not_a_chat
     thread_busy`,
  ],
  [
    413,
    `body_too_large message_too_large append_too_large input_too_large file_too_large output_too_large
     graph_change_too_large hook_too_large`,
  ],
  [414, `url_too_long`],
  [415, `wrong_media_type`],
  [
    429,
    `fleet_full rate_limited inbox_full slots_full too_many_subscriptions tokens_full trigger_contended workflow_busy`,
  ],
  [431, `headers_too_large`],
  [499, `client_gone`],
  [500, `internal`],
  [
    503,
    `closing runtime_closed engine_closed engine_full memory_closed sandbox_busy queue_full queue_busy store_closed
     store_failed store_full store_locked store_overloaded store_damaged store_unwritable store_gone store_newer store_foreign
     store_unreachable store_denied store_unsupported store_unknown store_other_fleet work_queue_failed
     no_store store_empty index_failed hook_ambiguous schedule_contended session_released too_many_streams`,
  ],
  [504, `timeout`],
];

const STATUS: ReadonlyMap<string, number> = new Map(
  CODES.flatMap(([status, codes]) => codes.split(/\s+/).map((code) => [code, status] as const)),
);

export const statusOf = ({ code, retryable }: Pick<RuntimeError, 'code' | 'retryable'>): number =>
  STATUS.get(code) ?? (retryable ? 503 : 422);

/** Errors of requests that are refused early. `CODES` has the status of each. */

export const hostRefused = (host: string, isOwnOnly: boolean) =>
  new RuntimeError('host_refused', `This server does not accept requests for the host "${host}".`, {
    hint: isOwnOnly
      ? 'Use 127.0.0.1 or localhost, or start the server with --allow-host and that name.'
      : 'Use its IP address, or start the server with --allow-host and that name.',
  });

export const originRefused = (origin: string) =>
  new RuntimeError('origin_refused', `A page of ${origin} may not use this server.`, {
    hint: 'Open the console from the server itself, or start the server with --origin and that origin.',
  });

export const badUrl = (found: string) =>
  new RuntimeError('bad_url', `The path of the request ${found}.`, {
    hint: 'Use a plain path such as /sessions, with names percent-encoded once.',
  });

export const urlTooLong = (chars: number, limit: number) =>
  new RuntimeError('url_too_long', `The URL has ${chars} characters. The limit is ${limit}.`, {
    hint: 'Request less, or one page at a time.',
  });

export const headersTooLarge = (limit: string) =>
  new RuntimeError('headers_too_large', `The headers of the request have more than ${limit}.`, {
    hint: 'Send fewer or shorter headers.',
  });

export const badRequest = (found: string, hint?: string) =>
  new RuntimeError('bad_request', found, {
    hint: hint ?? 'GET /openapi.json describes all requests.',
  });

export const requestTimeout = () =>
  new RuntimeError('request_timeout', 'The request did not arrive in time.', {
    hint: 'Send it without pauses.',
    retryable: true,
  });

/** Nobody receives this error. */
export const clientGone = () =>
  new RuntimeError('client_gone', 'The client disconnected before its request was complete.', {
    retryable: true,
  });

export const bodyTooLarge = (limit: number) =>
  new RuntimeError('body_too_large', `The body has more than ${limit} bytes.`, {
    hint: 'Send less. Put large data into a file, and send its path.',
  });

export const wrongMediaType = (found: string) =>
  new RuntimeError('wrong_media_type', `The body is ${found}.`, {
    hint: 'Send JSON, not compressed, with "content-type: application/json".',
  });

export const badJson = (found: string) =>
  new RuntimeError('bad_json', `The body is not JSON: ${found}.`, { hint: 'Fix it at that position.' });

export const jsonTooDeep = (limit: number) =>
  new RuntimeError('bad_json', `The body nests lists and objects deeper than ${limit} levels.`, {
    hint: 'Send flatter values.',
  });

export const tokenMissing = () =>
  new RuntimeError('token_missing', 'This request has no token.', {
    hint: 'Send "authorization: Bearer TOKEN". "telltale token link" prints the link of a running server, "telltale token create NAME --role run" creates a new token.',
  });

export const tokenRefused = () =>
  new RuntimeError('token_refused', 'The token is not valid here.', {
    hint: 'It was revoked, belongs to another store, or the server has been restarted. "telltale token link" prints the current link, "telltale token list" shows the tokens of the store.',
  });

export const roleNeeded = (needed: Role, has: Role) =>
  new RuntimeError('role_needed', `This needs the role "${needed}", but the token has "${has}".`, {
    hint: `Use another token: telltale token create NAME --role ${needed}`,
  });

export const rateLimited = (what: string) =>
  new RuntimeError('rate_limited', `Too many ${what}.`, {
    hint: 'Wait as long as Retry-After says, and send fewer requests.',
    retryable: true,
  });

export const routeUnknown = (path: string, near: string | undefined) =>
  new RuntimeError('route_unknown', `There is no route ${path}.`, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}GET /openapi.json lists all routes.`,
  });

export const consoleMissing = () =>
  new RuntimeError('route_unknown', 'This server has no console.', {
    hint: 'Build it: npm run build. All other routes work. GET /openapi.json lists them.',
  });

export const methodNotAllowed = (method: string, path: string, allowed: readonly string[]) =>
  new RuntimeError('method_not_allowed', `${path} does not support ${method}.`, {
    hint: `It supports ${allowed.join(', ')}.`,
  });

export const serverClosing = () =>
  new RuntimeError('closing', 'The server is closing.', {
    hint: 'Try again when it is back.',
    retryable: true,
  });

export const badIdempotencyKey = () =>
  new RuntimeError('bad_idempotency_key', 'The Idempotency-Key is not valid.', {
    hint: 'Send 1 to 255 printable ASCII characters, such as a new UUID for each operation.',
  });

export const idempotencyMismatch = () =>
  new RuntimeError('idempotency_mismatch', 'This Idempotency-Key was used for another request.', {
    hint: 'Use a new key for each operation, and the same key only to repeat it.',
  });

export const idempotencyRunning = () =>
  new RuntimeError(
    'idempotency_running',
    'The first request with this Idempotency-Key is still in progress.',
    {
      hint: 'Try again in a moment.',
      retryable: true,
    },
  );

export const idempotencyNotKept = (why: string) =>
  new RuntimeError(
    'idempotency_not_kept',
    `This request was already executed, but its response had ${why} and was not stored.`,
    {
      hint: 'Read what it created instead.',
    },
  );

/** An internal error. Its details are written to the server's standard error, with the id. */
const serverFailed = (id: string) =>
  new RuntimeError('internal', `The server failed (${id}).`, {
    hint: 'The server wrote details to its standard error, with this id.',
  });

export const badOrigin = (given: string) =>
  new RuntimeError('usage', `"${given}" is not an origin, so it would allow no page.`, {
    hint: 'Write scheme, name and port without a path: --origin https://app.example.com',
  });

export const badHostName = (given: string) =>
  new RuntimeError('usage', `"${given}" is not a host name, so it would allow no request.`, {
    hint: 'Write only the name, without scheme or port: --allow-host agents.example.com',
  });

export const needsToken = (host: string) =>
  new RuntimeError('usage', `The store has no token, so no client on another machine could use ${host}.`, {
    hint: 'Create one in the same store, then start again: telltale token create NAME --role admin. Or leave --host at 127.0.0.1.',
  });
