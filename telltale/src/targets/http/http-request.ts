import type { Agent, IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { bareHost, portOf } from '../../manifest/permissions/host-entry.ts';
import { stopped } from '../access/stopped.ts';
import { thrownMessage } from '../output/thrown-message.ts';
import { type ConnectionRules, judgeConnection } from './checked-lookup.ts';
import { type BodyOptions, type ReadBody, readBody } from './read-body.ts';

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
export interface Exchange
  extends Pick<HttpRequest, 'method' | 'headers' | 'body' | 'granted' | 'what' | 'signal'> {
  /** Keeps connections for requests to the very same host and port, which are judged alike. */
  readonly agent?: Agent | undefined;
  /** The process need not stay for it. */
  readonly isBackground?: boolean;
}

/** One request and its response, judged; a redirect is a response like others. `headers` as `checkedHeaders` gives them. */
export function exchange(request: Exchange, url: URL, deps: HttpDeps): Promise<IncomingMessage> {
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
