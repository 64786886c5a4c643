import type { Json } from '../../lib/json.ts';
import { withTimeout } from '../abort.ts';
import { needForUrl } from '../access/approval-need.ts';
import { compileCheck } from '../check-parameters.ts';
import { httpRequest, idempotencyHeader, isSafeMethod, responseJson } from '../http/http-request.ts';
import type { Target } from '../target.ts';
import type { TargetDeps } from '../target-deps.ts';

const DEFAULT_SECONDS = 30;
const DEFAULT_BODY_BYTES = 512 * 1024;
const MAX_BODY_BYTES = 8 * 1024 * 1024;

const PARAMETERS = {
  type: 'object',
  properties: {
    url: { type: 'string', minLength: 1, description: 'http or https.' },
    method: {
      enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'],
      description: 'Default GET.',
    },
    headers: { type: 'object', additionalProperties: { type: 'string' } },
    body: { description: 'Text, or a value to send as JSON.' },
    timeout: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 3600,
      description: `Seconds (default ${DEFAULT_SECONDS}).`,
    },
    max_bytes: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_BODY_BYTES,
      description: `Bytes of the body to read (default ${DEFAULT_BODY_BYTES}).`,
    },
  },
  required: ['url'],
  additionalProperties: false,
} as const;

interface FetchInput {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
  readonly timeout?: number;
  readonly max_bytes?: number;
}

/** Sends a request to a host of `permissions.network`. Any status is a result, and the caller judges it. */
export function httpFetch({ permissions, resolveHost, own, clock }: TargetDeps): Target {
  const what = 'tool "http_fetch"';
  return {
    kind: 'tool',
    name: 'http_fetch',
    description:
      'Makes an HTTP request. You see status line, headers and body; "$id" has status, headers and body (parsed if it is JSON, else text).',
    parameters: PARAMETERS,
    idempotent: false,
    idempotentFor: (input) => isSafeMethod(String(input.method ?? 'GET')),
    start: 'on_close',
    check: compileCheck(PARAMETERS, what),
    ...(permissions.hosts.asks
      ? {
          needs: (input) => {
            const { url, method = 'GET' } = input as unknown as FetchInput;
            return needForUrl(permissions.hosts, method, url, what);
          },
        }
      : {}),
    async run(call) {
      const input = call.input as unknown as FetchInput;
      const { url, method = 'GET', headers = {}, body, timeout = DEFAULT_SECONDS } = input;
      const isText = body === undefined || typeof body === 'string';
      const response = await withTimeout(call.signal, timeout, what, clock, (signal) =>
        httpRequest(
          {
            what,
            method,
            url,
            headers: {
              ...(isText ? {} : { 'content-type': 'application/json' }),
              ...idempotencyHeader(method, call.idempotencyKey),
              ...lowerCase(headers),
            },
            body: isText ? body : JSON.stringify(body),
            maxBytes: input.max_bytes ?? DEFAULT_BODY_BYTES,
            signal,
            granted: call.granted,
          },
          { hosts: permissions.hosts, resolveHost, own },
        ),
      );
      return responseJson(response, url);
    },
  };
}

const lowerCase = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
