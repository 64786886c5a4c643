import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { hookTooLarge, hookUnknown, MAX_HOOK_BYTES } from '../../agent/triggers/webhook.ts';
import type { RuntimeError } from '../../lib/errors.ts';
import { hostNameOf, isAddress, isLoopback } from '../../lib/host-name.ts';
import { holdsInfinity } from '../../lib/json.ts';
import type { Listeners } from '../background.ts';
import type { AppEnv } from '../server-edges.ts';
import {
  badJson,
  badRequest,
  badUrl,
  bodyTooLarge,
  clientGone,
  headersTooLarge,
  hostRefused,
  jsonTooDeep,
  originRefused,
  urlTooLong,
  withHeaders,
  wrongMediaType,
} from './error-answer.ts';
import type { ServerLimits } from './open-http.ts';

type BodyLimits = Pick<ServerLimits, 'bodyBytes' | 'jsonDepth'>;

/** @hono/node-server looks here for a body that was read already. */
type WithRawBody = IncomingMessage & { rawBody?: Buffer };

/** Hooks: the sender decides what is posted there, and signs it. */
export const HOOKS = '/hooks/';

/**
 * Anyone may post to a hook. So a request to an unknown hook, or one too large for any hook, is refused by its headers:
 * its body is not read, and the connection is closed. Must be added before anything that reads bodies.
 */
export const refuseUnknownHooks =
  (listeners: Pick<Listeners, 'hooks'>): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    const { path, method } = c.req;
    if (!isReading(method) && path.startsWith(HOOKS)) {
      const asked = decoded(path.slice(HOOKS.length));
      const known = listeners.hooks().map(({ hook }) => hook);
      if (!known.includes(asked)) throw withHeaders(hookUnknown(asked, known), CLOSE);
      if (Number(c.env.incoming.headers['content-length'] ?? 0) > MAX_HOOK_BYTES)
        throw withHeaders(hookTooLarge(asked, MAX_HOOK_BYTES), CLOSE);
    }
    await next();
  };

const CLOSE = { connection: 'close' };

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Reads the whole body within its limits, and allows only JSON. Empty bodies pass. */
export const readBody =
  (limits: BodyLimits): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    if (!isReading(c.req.method)) {
      const { incoming, outgoing } = c.env;
      const isHook = c.req.path.startsWith(HOOKS);
      const limit = isHook ? Math.min(limits.bodyBytes, MAX_HOOK_BYTES) : limits.bodyBytes;
      const body = await bytesOf(incoming, outgoing, limit);
      (incoming as WithRawBody).rawBody = body;
      if (body.length > 0 && !isHook) checkJson(body, incoming.headers, limits.jsonDepth);
    }
    await next();
  };

/** The body that `readBody` has read. */
export const bodyOf = (incoming: IncomingMessage): Buffer =>
  (incoming as WithRawBody).rawBody ?? Buffer.alloc(0);

async function bytesOf(incoming: IncomingMessage, outgoing: ServerResponse, limit: number): Promise<Buffer> {
  const { headers } = incoming;
  if (Number(headers['content-length'] ?? 0) > limit) throw bodyTooLarge(limit);
  if (headers.expect !== undefined) outgoing.writeContinue();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // The connection stays open, so that a body that is too long gets a response, too.
    for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > limit) throw bodyTooLarge(limit);
      chunks.push(chunk);
    }
  } catch (thrown) {
    if (size > limit) throw thrown;
    throw clientGone();
  }
  return Buffer.concat(chunks);
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i;

function checkJson(body: Buffer, headers: IncomingMessage['headers'], depth: number): void {
  const { 'content-type': type, 'content-encoding': encoding } = headers;
  if (type === undefined) throw wrongMediaType('of no type');
  if (!JSON_TYPE.test(type)) throw wrongMediaType(`"${type}"`);
  if (encoding !== undefined && encoding !== 'identity') throw wrongMediaType(`compressed ("${encoding}")`);
  if (isTooDeep(body, depth)) throw jsonTooDeep(depth);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw badJson('it is not UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const { line, column, wanted } = jsonFault(text);
    throw badJson(`line ${line}, column ${column}: ${wanted} was expected`);
  }
  if (holdsInfinity(value)) throw badJson('a number in it is beyond 1.8e308');
}

/** Matches one JSON token, or nothing. Strings may not contain raw control characters. */
const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings
  /[\t\n\r ]*(?:([[\]{},:])|"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w))/y;

type Wants = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or ]' | ', or }' | 'nothing more';

/**
 * Finds the position where a text stops being valid JSON. The runtime's own message only sometimes has a position. Runs
 * only after parsing has failed.
 */
export function jsonFault(text: string): {
  readonly line: number;
  readonly column: number;
  readonly wanted: string;
} {
  const open: ('[' | '{')[] = [];
  let wants: Wants = 'value';
  let at = 0;
  const afterValue = (): Wants => {
    const inside = open.at(-1);
    return inside === undefined ? 'nothing more' : inside === '[' ? ', or ]' : ', or }';
  };
  const step = (mark: string | undefined, isString: boolean): Wants | undefined => {
    if (mark === undefined) {
      if (wants === 'key' || wants === 'key or }') return isString ? ':' : undefined;
      return wants === 'value' || wants === 'value or ]' ? afterValue() : undefined;
    }
    if ((mark === '[' || mark === '{') && (wants === 'value' || wants === 'value or ]')) {
      open.push(mark);
      return mark === '[' ? 'value or ]' : 'key or }';
    }
    if (mark === ':') return wants === ':' ? 'value' : undefined;
    if (mark === ',') return wants === ', or ]' ? 'value' : wants === ', or }' ? 'key' : undefined;
    if ((mark === ']' || mark === '}') && wants.endsWith(`or ${mark}`)) {
      open.pop();
      return afterValue();
    }
    return undefined;
  };
  for (;;) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    const next = found === null ? undefined : step(found[1], found[0].trimStart().startsWith('"'));
    if (found === null || next === undefined) break;
    wants = next;
    at = TOKEN.lastIndex;
  }
  const from = at + (/^[\t\n\r ]*/.exec(text.slice(at))?.[0].length ?? 0);
  const before = text.slice(0, from).split('\n');
  return {
    line: before.length,
    column: (before.at(-1)?.length ?? 0) + 1,
    wanted: wants.replace(/[[\]{},:]/g, '"$&"'),
  };
}

const QUOTE = 34;
const BACKSLASH = 92;

/** Whether lists and objects nest deeper than `limit`. Works on the bytes, before any value is created. */
export function isTooDeep(json: Uint8Array, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      for (at++; at < json.length && json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at++;
    } else if (byte === 91 || byte === 123) {
      if (++depth > limit) return true;
    } else if (byte === 93 || byte === 125) depth--;
  }
  return false;
}

export interface GuardRules {
  /** The address the server listens on. */
  readonly host: string;
  /** Further names by which the server may be reached. */
  readonly allowHosts: readonly string[];
  /** Origins of other pages that may use it: `https://app.example.com`. */
  readonly origins: readonly string[];
  readonly headers: number;
}

export type Head = Pick<IncomingMessage, 'headers' | 'method' | 'url' | 'rawHeaders'>;

const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i;

/** Methods that change nothing. */
export const isReading = (method: string | undefined): boolean => method === 'GET' || method === 'HEAD';

/**
 * Explains why a request is refused, by its headers alone. A web page can make a browser send requests to this machine,
 * through a name that points here (DNS rebinding). So the names in Host and Origin must be the server's own.
 */
export function refuseHead(head: Head, rules: GuardRules): RuntimeError | undefined {
  return refuseHost(head, rules) ?? refuseOrigin(head, rules) ?? refusePath(head.url ?? '/');
}

function refuseHost({ headers, rawHeaders }: Head, rules: GuardRules): RuntimeError | undefined {
  if (rawHeaders.length > 2 * rules.headers) return headersTooLarge(`${rules.headers} lines`);
  const named = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  const { host = '' } = headers;
  if (named.length !== 1 || !HOST.test(host))
    return badRequest('The request needs exactly one valid "host" header.', 'Send one "host" header.');
  const name = hostNameOf(`http://${host}`);
  if (isLoopback(name) || rules.allowHosts.includes(name)) return undefined;
  if (isLoopback(rules.host)) return hostRefused(name, true);
  return isAddress(name) || name === rules.host.toLowerCase() ? undefined : hostRefused(name, false);
}

function refuseOrigin({ headers, method }: Head, { origins }: GuardRules): RuntimeError | undefined {
  const { origin, host = '' } = headers;
  if (isReading(method)) return undefined; // without CORS headers, a browser hides the response from the page
  if (origin === undefined)
    return headers['sec-fetch-site'] === 'cross-site' ? originRefused('another site') : undefined;
  if (origins.includes(origin) || isSameOrigin(origin, host)) return undefined;
  return originRefused(origin === 'null' ? 'no origin' : origin);
}

/** Ignores the scheme, because a proxy in front of the server may terminate TLS. */
function isSameOrigin(origin: string, host: string): boolean {
  const { host: own } = URL.parse(origin) ?? { host: '' };
  return own !== '' && own === host.toLowerCase().replace(origin.startsWith('https:') ? /:443$/ : /:80$/, '');
}

const MAX_URL_CHARS = 4_096;

/** Encoded characters that change the meaning of a path: a slash, a backslash, a control character. */
const HIDDEN = /%(?:2f|5c|[01][0-9a-f]|7f)/i;
const ENCODED = /%[0-9a-f]{2}/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const CONTROL = /[\u0000-\u001f\u007f\\]/;

/**
 * Explains why a path is refused: another program could read it differently. Routes never see such a path, and no file
 * is ever opened with one.
 */
export function refusePath(url: string): RuntimeError | undefined {
  if (url.length > MAX_URL_CHARS) return urlTooLong(url.length, MAX_URL_CHARS);
  // An absolute URL, as sent to a proxy, or `*`.
  if (!url.startsWith('/')) return badUrl('does not start with "/"');
  const path = url.split(/[?#]/, 1)[0] ?? '';
  if (CONTROL.test(path)) return badUrl('contains a backslash or a control character');
  if (HIDDEN.test(path)) return badUrl('contains an encoded slash or control character');
  let plain: string;
  try {
    plain = decodeURIComponent(path);
  } catch {
    return badUrl('has an invalid encoding');
  }
  if (ENCODED.test(plain)) return badUrl('is encoded twice');
  if (plain.split('/').some((part) => part === '.' || part === '..'))
    return badUrl('contains "." or ".." as a folder');
  return undefined;
}
