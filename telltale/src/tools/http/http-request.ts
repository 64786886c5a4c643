import type { Agent, IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { bareHost, portOf } from '../../manifest/permission-rules.ts';
import { abortError } from '../abort.ts';
import { thrownMessage } from '../output/output.ts';
import { type ConnectionRules, checkConnection } from './checked-lookup.ts';

/** A response as a result: a JSON body becomes a value, other text stays text, and binary bodies are left out. */
export function responseJson({ status, headers, url, body }: HttpResponse, asked: string): JsonObject {
  const type = headers['content-type'];
  const text = bodyText(body, type);
  return {
    status,
    ...(url === asked ? {} : { url }),
    headers,
    body: text === undefined ? null : body.isTruncated || !isJsonType(type) ? text : jsonOrText(text),
    ...(text === undefined ? { omitted: `${body.bytes.length} bytes that are no text` } : {}),
    ...(body.isTruncated ? { cut: `after ${body.bytes.length} bytes` } : {}),
  };
}

function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text; // the server claims JSON and sends something else
  }
}

/** `what` is for messages: `tool "http_fetch"`. */
export interface HttpRequest extends BodyOptions {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** What a person approved for the call. */
  readonly granted?: readonly string[] | undefined;
}

export interface HttpDeps extends ConnectionRules {
  /** Throws for a URL that may not be requested although its host may. Also called for redirects. */
  readonly checkUrl?: (url: URL) => void;
}

export interface HttpResponse {
  /** The URL after redirects. */
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ReadBody;
}

/**
 * Loaded at the first request, and with `require`: `import` would load a whole additional client (50 ms instead of 5).
 */
const load = createRequire(import.meta.url);

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that the client sets itself, or that could direct a request to another host than the checked one. */
const CLIENT_HEADERS: ReadonlySet<string> = new Set(
  'host connection content-length transfer-encoding upgrade te trailer keep-alive expect'.split(' '),
);
/** Headers with credentials, by their usual names and by servers' own names such as `x-api-key` and `private-token`. */
const SECRET_HEADER = /auth|cookie|token|secret|session|signature|credential|(?<!^idempotency-)key/;

/** Sends one request and follows its redirects, each checked like the first. */
export async function httpRequest(request: HttpRequest, deps: HttpDeps): Promise<HttpResponse> {
  let url = readUrl(request.url, undefined);
  let { method, body } = request;
  let headers = checkedHeaders(request);
  for (let redirects = 0; ; redirects++) {
    const response = await exchange({ ...request, method, body, headers }, url, deps);
    const { location } = response.headers;
    const status = response.statusCode ?? 0;
    if (!REDIRECTS.has(status) || location === undefined)
      return {
        url: url.href,
        status,
        headers: flatHeaders(response),
        body: await readBody(response, request),
      };
    response.destroy();
    if (redirects === MAX_REDIRECTS) throw tooManyRedirects(request.url);
    const next = readUrl(location, url);
    if (status === 303 || (status < 303 && method === 'POST')) {
      if (method !== 'HEAD') method = 'GET';
      body = undefined;
      headers = without(headers, (name) => name.startsWith('content-'));
    }
    if (next.origin !== url.origin) headers = without(headers, (name) => SECRET_HEADER.test(name));
    url = next;
  }
}

/** The parts of a request needed for one exchange. */
export interface ExchangeRequest
  extends Pick<HttpRequest, 'method' | 'headers' | 'body' | 'granted' | 'what' | 'signal'> {
  /** Reuses connections for requests to the same host and port, to which the same rules apply. */
  readonly agent?: Agent | undefined;
  /** Whether the process may exit while it runs. */
  readonly isBackground?: boolean;
}

/**
 * Sends one checked request. A redirect is returned like any other response. `headers` must come from `checkedHeaders`.
 */
export function exchange(request: ExchangeRequest, url: URL, deps: HttpDeps): Promise<IncomingMessage> {
  const { signal, what } = request;
  const isSecure = url.protocol === 'https:';
  const host = bareHost(url.hostname);
  deps.checkUrl?.(url);
  const lookup = checkConnection(deps, host, portOf(url), request.granted);
  if (signal.aborted) throw abortError(what, signal);
  return new Promise((resolve, reject) => {
    const { request: send } = load(isSecure ? 'node:https' : 'node:http') as typeof import('node:http');
    const sent = send(url, {
      method: request.method,
      headers: request.headers,
      lookup,
      agent: request.agent ?? false, // a reused connection would be one that was checked for another request
    });
    // The `signal` option is not used: Node passes it to the connection, which may belong to another request by then.
    const onAbort = () => void sent.destroy();
    signal.addEventListener('abort', onAbort, { once: true });
    sent.once('close', () => signal.removeEventListener('abort', onAbort));
    if (request.isBackground === true) sent.once('socket', (socket) => socket.unref());
    sent.once('response', resolve);
    sent.on('error', (error) => {
      if (signal.aborted) reject(abortError(what, signal));
      else reject(error instanceof RuntimeError ? error : requestFailed(url, error));
    });
    sent.end(request.body);
  });
}

export function readUrl(text: string, base: URL | undefined): URL {
  let url: URL;
  try {
    url = new URL(text, base);
  } catch (cause) {
    throw badUrl(text, 'cannot be read', cause);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw badUrl(text, `is not an http:// or https:// address`);
  if (url.username !== '' || url.password !== '')
    throw badUrl(url.host, 'contains a user name or a password, which belong in a header');
  return url;
}

export function checkedHeaders({
  headers,
  body,
  method,
}: Pick<HttpRequest, 'headers' | 'body' | 'method'>): Readonly<Record<string, string>> {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const [name, value] of named) {
    if (CLIENT_HEADERS.has(name)) throw badHeader(name, 'is set by the client');
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) throw badHeader(name, 'is not a valid header name');
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw badHeader(name, 'contains a character that is not allowed in headers');
  }
  const sendsLength = body !== undefined || !['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(method);
  return {
    'user-agent': 'telltale',
    accept: '*/*',
    ...Object.fromEntries(named),
    ...(sendsLength ? { 'content-length': String(Buffer.byteLength(body ?? '')) } : {}),
  };
}

const without = (headers: Readonly<Record<string, string>>, drop: (name: string) => boolean) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !drop(name)));

export const flatHeaders = ({ headers }: IncomingMessage): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );

const badUrl = (text: string, why: string, cause?: unknown) =>
  new RuntimeError('bad_parameters', `The address ${JSON.stringify(text.slice(0, 200))} ${why}.`, {
    hint: 'Write it like https://example.com/path?q=text.',
    cause,
  });

const badHeader = (name: string, why: string) =>
  new RuntimeError('bad_parameters', `The header ${JSON.stringify(name.slice(0, 100))} ${why}.`, {
    hint: 'Leave it out.',
  });

const tooManyRedirects = (url: string) =>
  new RuntimeError(
    'http_failed',
    `The address "${url.slice(0, 200)}" redirects more than ${MAX_REDIRECTS} times.`,
  );

/** Errors that would occur again: not HTTP, oversized headers, or an untrusted certificate. */
const PERMANENT_ERRORS = /^HPE_|^ERR_TLS|CERT|^UNABLE_TO_|^EPROTO$/;

function requestFailed(url: URL, cause: NodeJS.ErrnoException): RuntimeError {
  const code = cause.code ?? '';
  const isLasting = PERMANENT_ERRORS.test(code);
  return new RuntimeError('http_failed', `The request to ${url.origin} failed: ${thrownMessage(cause)}`, {
    hint: code.startsWith('HPE_')
      ? 'The server does not speak HTTP, or sends more than 16 KiB of headers.'
      : isLasting
        ? 'The server does not speak TLS, or this machine does not trust its certificate.'
        : undefined,
    retryable: !isLasting,
    cause,
  });
}

export interface ReadBody {
  readonly bytes: Buffer;
  /** Whether the body was longer than requested. */
  readonly isTruncated: boolean;
}

export interface BodyOptions {
  readonly what: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Receives the unpacked body as it arrives. Not called for binary types. */
  readonly onChunk?: ((chunk: Buffer) => void) | undefined;
}

/**
 * Reads the first `maxBytes` of a body, unpacked. A small body that unpacks to a huge one is truncated like any other.
 */
async function readBody(
  response: IncomingMessage,
  { maxBytes, signal, what, onChunk }: BodyOptions,
): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  let total = 0;
  let packedBytes = 0;
  const isShown = !BINARY_TYPES.test(response.headers['content-type'] ?? '');
  try {
    const body = unpacked(response, (bytes) => {
      packedBytes += bytes;
    });
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      if (isShown) onChunk?.(chunk as Buffer);
      total += (chunk as Buffer).length;
      if (total > maxBytes) break;
    }
  } catch (thrown) {
    if (signal.aborted) throw abortError(what, signal);
    // A response without a body (HEAD, 304) may still name an encoding.
    if (!response.complete || packedBytes > 0) throw brokenOff(total, thrown);
  } finally {
    response.destroy();
  }
  // If a body ends with its connection, an aborted one looks complete.
  if (signal.aborted) throw abortError(what, signal);
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isTruncated: total > maxBytes };
}

const UNPACKERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** Unpacks a body. `came` is called with the number of packed bytes. */
export function unpacked(response: IncomingMessage, came: (bytes: number) => void): Readable {
  const unpack = UNPACKERS.get((response.headers['content-encoding'] ?? '').trim().toLowerCase());
  if (unpack === undefined) return response;
  const stream = unpack();
  response.on('data', (chunk: Buffer) => came(chunk.length));
  // `pipe` does not forward errors: a broken connection would leave the reader waiting.
  response.once('error', (error) => stream.destroy(error));
  response.once('aborted', () => stream.destroy(new Error('the connection was closed')));
  return response.pipe(stream);
}

const brokenOff = (bytes: number, cause: unknown) =>
  new RuntimeError('http_failed', `The response broke off after ${bytes} bytes: ${thrownMessage(cause)}`, {
    retryable: true,
    cause,
  });

const BINARY_TYPES =
  /^(?:image|audio|video|font)\/(?!svg)|^application\/(?:octet-stream|zip|gzip|pdf|x-tar)/i;

/** The body as text in the charset of its type. Undefined for binary bodies. */
export function bodyText({ bytes }: ReadBody, contentType = ''): string | undefined {
  if (BINARY_TYPES.test(contentType) || bytes.subarray(0, 8192).includes(0)) return undefined;
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return bytes.toString('utf8'); // an unknown charset
  }
}

export const isJsonType = (contentType = ''): boolean => /^[^;]*[/+]json\b/i.test(contentType);

/** The header that names the action behind a changing request, so that the server can recognize a repeat. */
export const idempotencyHeader = (method: string, key: string): Readonly<Record<string, string>> =>
  isSafeMethod(method) ? {} : { 'idempotency-key': key };

/** Safe methods change nothing, so the request may be repeated. */
export const isSafeMethod = (method: string): boolean => ['GET', 'HEAD', 'OPTIONS'].includes(method);
