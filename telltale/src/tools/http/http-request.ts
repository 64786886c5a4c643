import type { Agent, IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { bareHost, portOf } from '../../manifest/permission-rules.ts';
import { thrownMessage } from '../output/output.ts';
import { stopped } from '../stop-and-wait.ts';
import { type ConnectionRules, judgeConnection } from './checked-lookup.ts';

/** A response as a result: a body of JSON is a value, any other text, and bytes that are no text are left out. */
export function responseJson({ status, headers, url, body }: HttpResponse, asked: string): JsonObject {
  const type = headers['content-type'];
  const text = bodyText(body, type);
  return {
    status,
    ...(url === asked ? {} : { url }),
    headers,
    body: text === undefined ? null : body.isCut || !isJsonType(type) ? text : jsonOrText(text),
    ...(text === undefined ? { omitted: `${body.bytes.length} bytes that are no text` } : {}),
    ...(body.isCut ? { cut: `after ${body.bytes.length} bytes` } : {}),
  };
}

function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text; // a server that says JSON and sends something else
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
  /** Throws at an address that may not be asked for, though its host may; redirects included. */
  readonly checkUrl?: (url: URL) => void;
}

export interface HttpResponse {
  /** After redirects. */
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ReadBody;
}

/** At the first request, and not by `import`: that reads every export, of which one loads a whole client (50 ms, 5 without). */
const load = createRequire(import.meta.url);

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Set by the client, or such that they would let a request speak to another host than the one that was checked. */
const OWN_HEADERS: ReadonlySet<string> = new Set(
  'host connection content-length transfer-encoding upgrade te trailer keep-alive expect'.split(' '),
);
/** What says who asks, by the usual names and by what servers call their own: `x-api-key`, `private-token`. */
const SECRET_HEADER = /auth|cookie|token|secret|session|signature|credential|(?<!^idempotency-)key/;

/** One request and the redirects it leads to, each checked like the first. */
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

/** What one exchange needs of a request. */
export interface HttpRequestExchange
  extends Pick<HttpRequest, 'method' | 'headers' | 'body' | 'granted' | 'what' | 'signal'> {
  /** Keeps connections for requests to the very same host and port, which are judged alike. */
  readonly agent?: Agent | undefined;
  /** The process need not stay for it. */
  readonly isBackground?: boolean;
}

/** One request and its response, judged; a redirect is a response like others. `headers` as `checkedHeaders` gives them. */
export function exchange(request: HttpRequestExchange, url: URL, deps: HttpDeps): Promise<IncomingMessage> {
  const { signal, what } = request;
  const isSecure = url.protocol === 'https:';
  const host = bareHost(url.hostname);
  deps.checkUrl?.(url);
  const lookup = judgeConnection(deps, host, portOf(url), request.granted);
  if (signal.aborted) throw stopped(what, signal);
  return new Promise((resolve, reject) => {
    const { request: send } = load(isSecure ? 'node:https' : 'node:http') as typeof import('node:http');
    const sent = send(url, {
      method: request.method,
      headers: request.headers,
      lookup,
      agent: request.agent ?? false, // a kept connection would be one that was checked for another request
    });
    // Not by the option: Node hands that to the connection, which may by then be another request's.
    const onAbort = () => void sent.destroy();
    signal.addEventListener('abort', onAbort, { once: true });
    sent.once('close', () => signal.removeEventListener('abort', onAbort));
    if (request.isBackground === true) sent.once('socket', (socket) => socket.unref());
    sent.once('response', resolve);
    sent.on('error', (error) => {
      if (signal.aborted) reject(stopped(what, signal));
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
    throw badUrl(text, `is no http:// or https:// address`);
  if (url.username !== '' || url.password !== '')
    throw badUrl(url.host, 'holds a user name or a password; put them into a header');
  return url;
}

export function checkedHeaders({
  headers,
  body,
  method,
}: Pick<HttpRequest, 'headers' | 'body' | 'method'>): Readonly<Record<string, string>> {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const [name, value] of named) {
    if (OWN_HEADERS.has(name)) throw badHeader(name, 'is set by the client');
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) throw badHeader(name, 'is no name of a header');
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw badHeader(name, 'holds a character that headers cannot');
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

/** No HTTP, headers without end, or a certificate that is not trusted: the same the next time. */
const LASTING = /^HPE_|^ERR_TLS|CERT|^UNABLE_TO_|^EPROTO$/;

function requestFailed(url: URL, cause: NodeJS.ErrnoException): RuntimeError {
  const code = cause.code ?? '';
  const isLasting = LASTING.test(code);
  return new RuntimeError('http_failed', `The request to ${url.origin} failed: ${thrownMessage(cause)}`, {
    hint: code.startsWith('HPE_')
      ? 'What the server sends is no HTTP, or has headers beyond 16 KiB.'
      : isLasting
        ? 'It speaks no TLS, or its certificate is not one that this machine trusts.'
        : undefined,
    retryable: !isLasting,
    cause,
  });
}

export interface ReadBody {
  readonly bytes: Buffer;
  /** Whether there was more than was asked for. */
  readonly isCut: boolean;
}

export interface BodyOptions {
  readonly what: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** The body as it comes, unpacked; not for types that are no text. */
  readonly onChunk?: ((chunk: Buffer) => void) | undefined;
}

/** The first `maxBytes` of a body, unpacked: a small body that unpacks to a huge one is cut like any other. */
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
    if (signal.aborted) throw stopped(what, signal);
    // A response without a body (HEAD, 304) still says how one would have been packed.
    if (!response.complete || packedBytes > 0) throw brokenOff(total, thrown);
  } finally {
    response.destroy();
  }
  // Where a body ends with its connection, one that was stopped looks like one that has ended.
  if (signal.aborted) throw stopped(what, signal);
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: total > maxBytes };
}

const UNPACKERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** `came` hears of the bytes that are unpacked. */
export function unpacked(response: IncomingMessage, came: (bytes: number) => void): Readable {
  const unpack = UNPACKERS.get((response.headers['content-encoding'] ?? '').trim().toLowerCase());
  if (unpack === undefined) return response;
  const stream = unpack();
  response.on('data', (chunk: Buffer) => came(chunk.length));
  // `pipe` passes on no error: a connection that breaks would leave the reader waiting.
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

/** As text by the charset of its type; undefined for what is no text. */
export function bodyText({ bytes }: ReadBody, contentType = ''): string | undefined {
  if (BINARY_TYPES.test(contentType) || bytes.subarray(0, 8192).includes(0)) return undefined;
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return bytes.toString('utf8'); // a charset nobody knows
  }
}

export const isJsonType = (contentType = ''): boolean => /^[^;]*[/+]json\b/i.test(contentType);

/** A request that changes something says which action it belongs to, so that a repeat can be recognized. */
export const idempotencyHeader = (method: string, key: string): Readonly<Record<string, string>> =>
  isSafeMethod(method) ? {} : { 'idempotency-key': key };

/** Such a request changes nothing, so it may be made again. */
export const isSafeMethod = (method: string): boolean => ['GET', 'HEAD', 'OPTIONS'].includes(method);
