import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { withTimeout } from '../../tools/abort.ts';
import { needForUrl } from '../../tools/access/approval-need.ts';
import { compileCheck } from '../../tools/check-parameters.ts';
import { bodyText, type HttpResponse, httpRequest, isJsonType } from '../../tools/http/http-request.ts';
import type { FeedSource, SourceCall } from '../feed.ts';
import { MAX_FEED_VALUE } from '../max-feed-value.ts';
import { feedTooLarge, mayChange, needsApproval, notText, type SourceDeps } from './source.ts';

export type HttpSource = Extract<FeedSource, { readonly type: 'http' }>;

const SECONDS = 30;
const MAX_SHOWN = 200;

const SCALAR = { type: ['string', 'number', 'boolean'] };
const PARAMS = {
  type: 'object',
  properties: {
    method: { enum: ['GET', 'POST'] },
    headers: { type: 'object', additionalProperties: { type: 'string' } },
    query: { type: 'object', additionalProperties: { anyOf: [SCALAR, { type: 'array', items: SCALAR }] } },
    body: {},
  },
  additionalProperties: false,
};

/** Compiled once a process, when it is first needed. */
export const checkHttpParams = compileCheck(PARAMS, 'an http source');

interface HttpParams {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, Json>>;
  readonly body?: Json;
}

/** A page: JSON where its server says so, else text. Anything but success is an error. */
export function createHttpSource({ targets, isModels }: SourceDeps) {
  const { permissions, resolveHost, own, clock } = targets.deps;
  const { hosts } = permissions;
  return async (source: HttpSource, { feed, params, signal }: SourceCall): Promise<Json> => {
    const what = `feed "${feed.id}"`;
    const wrong = checkHttpParams(params);
    if (wrong !== undefined) throw wrong;
    if (isModels?.(feed.id) === true && !isSafeRequest(params))
      throw mayChange(what, `http (${String(params.method)})`);
    const { method = 'GET', headers = {}, query, body } = params as HttpParams;
    const url = addressOf(source, query);
    const need = needForUrl(hosts, method, url, what);
    if (need !== undefined) throw needsApproval(what, need.what, need.because);
    const isText = body === undefined || typeof body === 'string';
    const request = {
      what,
      method,
      url,
      headers: { ...(isText ? {} : { 'content-type': 'application/json' }), ...lowerCase(headers) },
      body: isText ? body : JSON.stringify(body),
      maxBytes: MAX_FEED_VALUE,
    };
    const response = await withTimeout(signal, SECONDS, what, clock, (limited) =>
      httpRequest({ ...request, signal: limited }, { hosts, resolveHost, own }),
    );
    return bodyValue(response, what);
  };
}

/** The address with `query` behind it. One that cannot be read is left as it is: the request says why. */
function addressOf({ name }: HttpSource, query: HttpParams['query']): string {
  if (query === undefined || !URL.canParse(name)) return name;
  const url = new URL(name);
  for (const [key, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(key, String(each));
  return url.href;
}

function bodyValue({ status, headers, url, body }: HttpResponse, what: string): Json {
  const type = headers['content-type'];
  const { origin } = new URL(url);
  const text = bodyText(body, type);
  if (status < 200 || status > 299) throw notFound(origin, status, text ?? '');
  if (text === undefined) throw notText(`What ${origin} sent (${clip(type ?? 'of no type')})`);
  if (!isJsonType(type)) return body.isTruncated ? `${text}\n… [cut after ${body.bytes.length} bytes]` : text;
  if (body.isTruncated) throw feedTooLarge(what);
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text; // a server that says JSON and sends something else
  }
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const notFound = (origin: string, status: number, body: string) =>
  new RuntimeError(
    'http_failed',
    `${origin} answered ${status}${body.trim() === '' ? '.' : `: ${clip(body.trim(), MAX_SHOWN)}`}`,
    { retryable: status === 429 || status >= 500 },
  );

/** Whether a request of these params changes nothing. */
export const isSafeRequest = ({ method = 'GET' }: JsonObject): boolean => method === 'GET';
