import type { ServerResponse } from 'node:http';
import type { ApiError } from '../../client/api.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { hasChanges } from '../../session/runs/accept-changes.ts';
import { serverFailed } from './http-errors.ts';
import { statusOf } from './status-of.ts';

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
