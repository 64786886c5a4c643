import type { ServerResponse } from 'node:http';
import { hasChanges } from '../../agent/runs/accept-changes.ts';
import type { ApiError, Role } from '../../client/api.ts';
import { RuntimeError } from '../../lib/errors.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ApiError;
}

/** Headers that go with an error: `Retry-After`, `Allow`. */
const HEADERS = Symbol('headers');

/** An error with the headers that its answer needs. */
export const withHeaders = (error: RuntimeError, headers: Readonly<Record<string, string>>): RuntimeError =>
  Object.assign(error, { [HEADERS]: headers });

/** What goes with an error, besides what its code asks for. */
export const headersOf = (error: RuntimeError): Readonly<Record<string, string>> =>
  HEADERS in error ? (error[HEADERS] as ErrorAnswer['headers']) : {};

const RETRY_AFTER_S = '2';

export interface ErrorDeps {
  /** A name for what went wrong here, to find it by. */
  readonly newId: () => string;
  readonly onError: (thrown: unknown) => void;
}

/** What a client is told. Causes stay here: they name files and addresses that are no business of a client's. */
export function errorAnswer(thrown: unknown, { newId, onError }: ErrorDeps): ErrorAnswer {
  const known = thrown instanceof RuntimeError && thrown.code !== 'internal' ? thrown : undefined;
  const error = known ?? mistake(thrown, newId(), onError);
  const { code, message, hint, retryable } = error;
  const status = statusOf(error);
  // Whoever runs the server has to mend that; what is busy or closing mends itself.
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

/** On the bare response: for what is refused before the app sees it. */
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
 * The codes of each status. What is in none of them may pass where it says so: 503, and senders try again. Else it is an
 * error that a request brought about: 422.
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
const serverFailed = (id: string) =>
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
