import { RuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { isMap } from '../../../manifest/schema/plain-values.ts';
import { clip } from '../../../manifest/schema/show-value.ts';
import {
  bodyText,
  type HttpResponse,
  httpRequest,
  idempotencyHeader,
  isSafeMethod,
  responseJson,
} from '../../http/http-request.ts';
import type { Operation } from '../../operations.ts';
import type { RelicContext, RelicDriver } from '../relic-driver.ts';
import {
  badConnection,
  type Connection,
  readConnection,
  relicBrokeOff,
  relicHealth,
  relicUnavailable,
  wholeOption,
} from '../relic-driver.ts';

const DEFAULT_BODY_BYTES = 1024 * 1024;
const MAX_SHOWN_BODY = 500;

const PATH = { type: 'string', maxLength: 4096, description: 'Below the address of the relic: "items/7".' };
const QUERY = {
  type: 'object',
  description: 'What stands behind the question mark; a list gives a name several times.',
};
const HEADERS = { type: 'object', additionalProperties: { type: 'string' }, description: 'Further headers.' };
const BODY = { description: 'Text, or a value that is sent as JSON.' };
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * A service at one URL. The URL in the manifest is a decision of its author, so it needs no entry in
 * `permissions.network`, and it may be on a private network. Nothing else can be reached through the relic, not even by
 * redirects.
 */
export function httpDriver(context: RelicContext): RelicDriver {
  const { what, deps } = context;
  const connection = readConnection(context, ['headers', 'max_bytes']);
  const base = readBase(context, connection.url);
  const headers = readHeaders(context, connection);
  const maxBytes = wholeOption(context, connection, 'max_bytes', DEFAULT_BODY_BYTES);
  const { resolve, check: checkUrl } = createRelicUrl(what, base);

  const where = `${base.origin}${base.pathname}`;
  const send = async (
    method: string,
    url: string,
    { body, headers: further }: JsonObject,
    call: { readonly signal: AbortSignal; readonly idempotencyKey: string },
  ): Promise<HttpResponse> => {
    const isText = body === undefined || typeof body === 'string';
    return httpRequest(
      {
        what,
        method,
        url,
        headers: {
          ...(isText ? {} : { 'content-type': 'application/json' }),
          ...idempotencyHeader(method, call.idempotencyKey),
          ...lowerCase(further),
          ...headers, // the manifest's headers come last, so no call can replace a key
        },
        body: isText ? body : JSON.stringify(body),
        maxBytes,
        signal: call.signal,
      },
      {
        hosts: { check: () => 'named', denies: () => false },
        resolveHost: deps.resolveHost,
        own: deps.own,
        checkUrl,
      },
    ).catch((thrown: unknown) => {
      throw unreachable(thrown, what, where, isRepeatable(method));
    });
  };
  const perform = async (
    method: string,
    input: JsonObject,
    call: { readonly signal: AbortSignal; readonly idempotencyKey: string },
  ): Promise<JsonObject> => {
    const url = resolve(String(input.path ?? ''));
    addQuery(url, input.query);
    const response = await send(method, url.href, input, call);
    if (response.status < 400) return responseJson(response, url.href);
    throw badStatus(what, response.status, bodyText(response.body, response.headers['content-type']) ?? '');
  };
  const request = (method: string, description: string): Operation => ({
    description,
    parameters: {
      path: PATH,
      query: QUERY,
      headers: HEADERS,
      ...(isSafeMethod(method) ? {} : { body: BODY }),
    },
    idempotent: isRepeatable(method),
    run: (input, call) => perform(method, input, call),
  });

  const operations: Readonly<Record<string, Operation>> = {
    get: request('GET', 'reads'),
    post: request('POST', 'sends something new'),
    put: request('PUT', 'puts something in a place'),
    patch: request('PATCH', 'changes something'),
    delete: request('DELETE', 'removes something'),
    request: {
      description: 'any method',
      parameters: {
        method: { enum: METHODS, description: 'GET if absent.' },
        path: PATH,
        query: QUERY,
        headers: HEADERS,
        body: BODY,
      },
      idempotent: ({ method }) => isRepeatable(String(method ?? 'GET')),
      run: (input, call) => perform(String(input.method ?? 'GET'), input, call),
    },
    health: relicHealth({
      what,
      driver: 'http',
      where,
      clock: deps.clock,
      async ask(signal) {
        const call = { signal, idempotencyKey: '' };
        const head = await send('HEAD', base.href, {}, call);
        // Some services do not support HEAD.
        const { status } =
          head.status === 405 || head.status === 501 ? await send('GET', base.href, {}, call) : head;
        if (status >= 500) throw badStatus(what, status, '');
        return { status };
      },
    }),
  };
  return { operations, byDefault: 'get' };
}

/** By definition, repeating these methods has no further effect. */
const isRepeatable = (method: string): boolean =>
  isSafeMethod(method) || method === 'PUT' || method === 'DELETE';

/** Errors of connections that were never established. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set(
  'ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH'.split(' '),
);

/** Translates a failure below HTTP into the errors of relics. Refusals stay as they are. */
function unreachable(thrown: unknown, what: string, where: string, mayRepeat: boolean): unknown {
  if (!(thrown instanceof RuntimeError) || thrown.code !== 'http_failed' || thrown.cause === undefined)
    return thrown;
  const { code } = thrown.cause as { readonly code?: unknown };
  return NEVER_CONNECTED.has(code)
    ? relicUnavailable(what, where, thrown.message)
    : relicBrokeOff(what, where, thrown.message, mayRepeat);
}

function addQuery(url: URL, query: Json | undefined): void {
  if (!isMap(query)) return;
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== null)
        url.searchParams.append(name, typeof each === 'object' ? JSON.stringify(each) : String(each));
}

const lowerCase = (headers: Json | undefined): Readonly<Record<string, string>> =>
  isMap(headers)
    ? Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]))
    : {};

function readBase({ what, file }: RelicContext, address: string): URL {
  const bad = (why: string) =>
    badConnection(what, file, why, 'Write it like https://api.example.com/v1. Secrets belong in "headers".');
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw bad('is not a valid URL');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw bad('is not an http:// or https:// URL');
  if (url.username !== '' || url.password !== '') throw bad('contains a user name or a password');
  if (url.search !== '' || url.hash !== '') throw bad('contains a "?" or a "#"');
  return url;
}

function readHeaders(
  { what, file }: RelicContext,
  { options: { headers = {} } }: Connection,
): Readonly<Record<string, string>> {
  if (isMap(headers) && Object.values(headers).every((value) => typeof value === 'string'))
    return lowerCase(headers);
  throw badConnection(what, file, 'has "headers" that are not all text', 'Write "headers: { NAME: TEXT }".');
}

const badStatus = (what: string, status: number, text: string) =>
  new RuntimeError(
    'http_failed',
    `The request of ${what} failed with status ${status}${text.trim() === '' ? '.' : `: ${text.trim().slice(0, MAX_SHOWN_BODY)}`}`,
    { retryable: status === 429 || status >= 500 },
  );

/** URLs below a base that no path can leave. */
export interface RelicUrl {
  readonly origin: string;
  /** Ends with a slash. */
  readonly path: string;
  /** The URL of a path below the base, without a query. */
  resolve(path: string): URL;
  /** Throws for a URL that is not below the base. */
  check(url: URL): void;
}

/** Some servers decode a path more than once. */
const MAX_DECODINGS = 5;

export function createRelicUrl(what: string, base: URL): RelicUrl {
  const root = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`;
  const check = (url: URL) => {
    const isBelow = url.pathname === base.pathname || url.pathname.startsWith(root);
    if (url.origin !== base.origin || !isBelow || climbs(url.pathname))
      throw leaves(what, `${url.origin}${url.pathname}`, `${base.origin}${base.pathname}`);
  };
  return {
    origin: base.origin,
    path: root,
    check,
    resolve(path) {
      // The URL parser reads `//host`, `https:…` and `\\host` as URLs of their own, so they are appended to the base.
      const relative = path.replace(/^[\\/]+/, '');
      const url =
        relative === '' ? new URL(base.href) : readUrl(what, path, `${base.origin}${root}${relative}`);
      if (climbs(path)) throw leaves(what, clip(path, 200), `${base.origin}${base.pathname}`);
      check(url);
      url.hash = '';
      return url;
    },
  };
}

/** Whether a server that decodes the path once too often would see `..` in it. */
function climbs(path: string): boolean {
  let text = path.replace(/[?#].*$/s, '');
  for (let times = 0; times < MAX_DECODINGS; times++) {
    if (text.split(/[\\/]/).some((segment) => segment === '..')) return true;
    const decoded = text.replace(/%(2e|2f|5c|25)/gi, (escaped) => decodeURIComponent(escaped));
    if (decoded === text) return false;
    text = decoded;
  }
  return true;
}

function readUrl(what: string, path: string, href: string): URL {
  try {
    return new URL(href);
  } catch {
    throw new RuntimeError(
      'bad_parameters',
      `The path ${JSON.stringify(clip(path, 200))} of ${what} cannot be read.`,
      {
        hint: 'Write it like "items/7".',
      },
    );
  }
}

const leaves = (what: string, found: string, base: string) =>
  new RuntimeError('not_permitted', `"${found}" is not below ${base}, the base URL of ${what}.`, {
    hint: 'Give a path below that URL. Another service needs its own relic.',
  });
