import { type Clock, createSystemClock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { nearest } from '../../lib/nearest.ts';
import { printable, quoted } from '../../manifest/diagnostic.ts';
import { knownContextWindow } from '../context-windows.ts';
import type { Model } from '../model.ts';
import { modelFailed } from '../model-errors.ts';
import { modelFacts } from '../prices.ts';
import { endedFetch } from './ended-fetch.ts';
import { fromLanguageModel } from './from-language-model.ts';
import { KNOWN_PROVIDERS, type KnownProvider } from './known-providers.ts';
import type { LanguageModel } from './language-model.ts';

export interface ProviderModelOptions {
  /** Keys and base URLs. The process's own environment is not read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  /** Overrides the environment. */
  readonly baseURL?: string;
  readonly fetch?: typeof globalThis.fetch;
  readonly firstTokenTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  /** The model is only inspected, so a missing key or base URL does not matter. */
  readonly unasked?: boolean;
}

/** Placeholders for a key and a base URL that are not used. */
const NO_KEY = 'none';
const NO_ADDRESS = 'http://localhost';

/** Creates the model `provider/model`. Loads only that provider's package. Rejects with a RuntimeError. */
export async function createProviderModel(ref: string, options: ProviderModelOptions): Promise<Model> {
  const slash = ref.indexOf('/');
  const name = ref.slice(0, slash);
  const modelId = ref.slice(slash + 1);
  const provider = Object.hasOwn(KNOWN_PROVIDERS, name) ? KNOWN_PROVIDERS[name] : undefined;
  if (provider === undefined) throw providerUnknown(name);
  const { env, baseURL, fetch, unasked = false, ...rest } = options;
  const ownKey = provider.keyVariable === undefined ? undefined : given(env, provider.keyVariable);
  const apiKey = ownKey ?? (unasked ? NO_KEY : undefined);
  if (provider.needsKey && apiKey === undefined) throw keyMissing(ref, provider);
  const base = baseURL ?? given(env, provider.baseVariable);
  const known = base === undefined ? provider.baseURL : readBaseURL(base, provider);
  const address = known ?? (unasked ? NO_ADDRESS : undefined);
  if (address === undefined) throw baseMissing(ref, provider);
  const isGateway = address !== provider.baseURL;
  const { baseVariable } = provider;
  const ownFetch = ownOriginFetch({ id: ref, baseURL: address, baseVariable }, fetch);
  const bounded = boundedFetch(ref, ownFetch);
  const { ends } = provider;
  const settings = {
    modelId,
    baseURL: address,
    isGateway,
    apiKey,
    fetch: ends === undefined ? bounded : endedFetch(ends, rest.clock ?? createSystemClock(), bounded),
  };
  const contextWindow = knownContextWindow(ref);
  return fromLanguageModel(await load(ref, provider, settings), {
    ...rest,
    ...modelFacts(ref),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    id: ref,
    baseURL: address,
    openOn: (fetch) => load(ref, provider, { ...settings, fetch }),
    ...(provider.options === undefined ? {} : { providerOptions: provider.options }),
    ...(provider.keyVariable === undefined ? {} : { keyVariable: provider.keyVariable }),
    secrets: apiKey === undefined ? [] : [apiKey],
  });
}

/** An empty variable counts as unset. Keys read from files end with a line break, which is removed. */
function given(env: ProviderModelOptions['env'], name: string): string | undefined {
  const value = Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
  return value === '' ? undefined : value;
}

function readBaseURL(base: string, provider: KnownProvider): string {
  const url = URL.canParse(base) ? new URL(base) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw baseInvalid(base, provider);
  const plain = base.replace(/\/+$/, '');
  return url.pathname === '/' && url.search === '' ? plain + provider.path : plain;
}

async function load(
  ref: string,
  provider: KnownProvider,
  settings: Parameters<KnownProvider['open']>[0],
): Promise<LanguageModel> {
  try {
    return await provider.open(settings);
  } catch (thrown) {
    const { code, message } = thrown as { readonly code?: unknown; readonly message?: unknown };
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' && String(message).includes(`'${provider.package}'`);
    throw isMissing ? providerMissing(ref, provider) : providerBroken(ref, provider, thrown);
  }
}

const providerUnknown = (name: string) => {
  const known = Object.keys(KNOWN_PROVIDERS);
  const near = nearest(name, known);
  return new RuntimeError('provider_unknown', `There is no provider ${quoted(name)}.`, {
    hint: `${near === undefined ? '' : `Did you mean "${near}"? `}Known: ${known.join(', ')}. For any other OpenAI-compatible server, use openai-compatible/MODEL.`,
  });
};

const providerMissing = (ref: string, provider: KnownProvider) =>
  new RuntimeError(
    'provider_missing',
    `${quoted(ref)} needs the package ${provider.package}, which is not installed.`,
    {
      hint: `npm install ${provider.package}`,
    },
  );

const providerBroken = (ref: string, provider: KnownProvider, cause: unknown) =>
  new RuntimeError('provider_broken', `${quoted(ref)}: the package ${provider.package} cannot be used.`, {
    hint: `Reinstall it: npm install ${provider.package}`,
    cause,
  });

const keyMissing = (ref: string, { keyVariable }: KnownProvider) =>
  new RuntimeError('model_key_missing', `${quoted(ref)} needs an API key, but ${keyVariable} is not set.`, {
    hint: `Set ${keyVariable}. The telltale command also reads it from .env. Models with scripted: or ollama/ need no key.`,
  });

const baseMissing = (ref: string, { baseVariable }: KnownProvider) =>
  new RuntimeError(
    'model_base_url_missing',
    `${quoted(ref)} needs the address of a server, but ${baseVariable} is not set.`,
    {
      hint: `Set ${baseVariable}, like http://127.0.0.1:8000/v1.`,
    },
  );

const baseInvalid = (base: string, { baseVariable }: KnownProvider) =>
  new RuntimeError('model_base_url_invalid', `${quoted(base)} is not the address of a model server.`, {
    hint: `Set ${baseVariable} to an address that starts with http:// or https://.`,
  });

type Fetch = typeof globalThis.fetch;

/** For messages: the model's id, its base URL, and the variable that sets it. */
export interface AskedAt {
  readonly id: string;
  readonly baseURL: string;
  readonly baseVariable: string;
}

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * A `fetch` that follows redirects only within the same origin. Requests contain a key and a whole conversation, and
 * `fetch` itself only removes `authorization` and cookies on a redirect, but not `x-api-key`. Without `fetch`, the
 * global one is looked up at each call, because it may have been replaced.
 */
const ownOriginFetch =
  (at: AskedAt, fetch?: Fetch): Fetch =>
  async (input, init) => {
    const first = new URL(input instanceof Request ? input.url : input);
    let from = first;
    let target: Parameters<Fetch>[0] = input;
    for (let redirects = 0; ; redirects++) {
      const response = await (fetch ?? patientFetch)(target, { ...init, redirect: 'manual' });
      const location = response.headers.get('location');
      const isRedirect = REDIRECTS.has(response.status) && location !== null;
      if (!isRedirect && !isNoAnswer(response.status)) return response;
      await response.body?.cancel();
      if (!isRedirect) throw noAnswer(at, from, response.status);
      if (redirects === MAX_REDIRECTS) throw redirectsOn(at, from);
      const next = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
      if (next?.origin !== first.origin) throw leadsAway(at, first, next);
      // Other redirects repeat the request as GET without a body, and only text can be sent twice.
      if (response.status < 307 || typeof init?.body !== 'string')
        throw leavesPrompt(at, response.status, next);
      from = next;
      target = next;
    }
  };

/** Neither an answer nor an error. Its reader would take it for a stream that broke off. */
const isNoAnswer = (status: number): boolean =>
  status === 204 || status === 205 || (status >= 300 && status < 400);

const MAX_SHOWN = 200;
const shown = (text: string): string => printable(text.slice(0, MAX_SHOWN));

const refused = (at: AskedAt, what: string, hint?: string): RuntimeError =>
  modelFailed('model_bad_request', `${at.id}: ${what}`, {
    hint: hint ?? `Check ${at.baseVariable}, and any proxy in between.`,
  });

const noAnswer = (at: AskedAt, { origin }: URL, status: number) =>
  refused(at, `${origin} responded with status ${status}, which no model server does.`);

const redirectsOn = (at: AskedAt, { origin }: URL) =>
  refused(at, `${origin} redirects more than ${MAX_REDIRECTS} times.`);

function leadsAway(at: AskedAt, from: URL, to: URL | undefined): RuntimeError {
  const isWeb = to !== undefined && /^https?:$/.test(to.protocol);
  const where = isWeb ? to.origin : 'a URL that is not http:// or https://';
  return refused(
    at,
    `${from.origin} redirects to ${shown(where)}. Telltale does not follow this redirect.`,
    isWeb
      ? `Set ${at.baseVariable} to ${shown(baseBehind(at, from, to))}, if the redirect is right.`
      : undefined,
  );
}

const leavesPrompt = (at: AskedAt, status: number, { origin, pathname }: URL) =>
  refused(
    at,
    `${origin} responded with a redirect (${status}) to ${shown(pathname)}, which would lose the prompt.`,
  );

/** The base URL that would lead directly to the target of a redirect. */
function baseBehind({ baseURL }: AskedAt, from: URL, to: URL): string {
  const rest = from.pathname.slice(new URL(baseURL).pathname.replace(/\/$/, '').length);
  return to.origin + (to.pathname.endsWith(rest) ? to.pathname.slice(0, -rest.length) : '');
}

/**
 * Node's `fetch` gives up after five minutes without data, and has no option for that. `limits.first_token` and the
 * watchdog of the call decide how long a model may take, so here only the signal ends a request. A replaced global
 * `fetch` and another dispatcher, such as a proxy, are used as they are.
 */
const patientFetch: typeof globalThis.fetch = (input, init) => {
  const dispatcher = patientDispatcher();
  const patient = dispatcher === undefined ? init : { ...init, dispatcher };
  return globalThis.fetch(input, patient as RequestInit);
};

/** The part of undici's dispatcher that `fetch` uses. */
interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/** undici, which implements Node's `fetch`, stores the dispatcher of all requests here. */
const GLOBAL_DISPATCHERS = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')];

/** The present global dispatcher without its time limits. */
function patientDispatcher(): Dispatcher | undefined {
  if (globalDispatcher() === undefined) return undefined;
  return {
    dispatch: (options, handler) =>
      globalDispatcher()?.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler) ?? false,
  };
}

function globalDispatcher(): Dispatcher | undefined {
  void globalThis.Request; // Node loads undici when one of its globals is first accessed
  for (const name of GLOBAL_DISPATCHERS) {
    const found = (globalThis as Record<symbol, unknown>)[name] as Dispatcher | undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

type BoundedFetch = typeof globalThis.fetch;

/** The most bytes without an empty line: more than any frame of a stream, or any other answer. */
const MAX_FRAME = 16 * 1024 * 1024;

/**
 * A `fetch` whose responses fail if a frame does not end. Readers collect each frame completely, so a server that never
 * ends one would fill the memory. `id` is the model's.
 */
const boundedFetch =
  (id: string, fetch: BoundedFetch): BoundedFetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    const { body, status, statusText, headers } = response;
    if (body === null) return response;
    if (response.ok && /^text\/html\b/i.test(headers.get('content-type') ?? ''))
      throw isPage(id, urlOf(input), await beginningOf(body));
    return new Response(bounded(body, id), { status, statusText: latin(statusText), headers });
  };

const urlOf = (input: Parameters<BoundedFetch>[0]): string =>
  input instanceof Request ? input.url : String(input);

/** Only the title of a page is needed. */
const MAX_PAGE_READ = 64 * 1024;

async function beginningOf(body: ReadableStream<Uint8Array>): Promise<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (text.length < MAX_PAGE_READ) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    if (/<\/title>/i.test(text)) break;
  }
  await reader.cancel().catch(() => undefined); // it may be over already
  return text;
}

function isPage(id: string, url: string, page: string): RuntimeError {
  const title = printable(/<title[^>]*>([^<]{0,200})/i.exec(page)?.[1] ?? '')
    .replace(/\s+/g, ' ')
    .trim();
  const { origin, pathname } = new URL(url);
  return modelFailed(
    'model_bad_request',
    `${id}: ${origin}${pathname} answered with an HTML page${title === '' ? '' : ` ("${title}")`} instead of a model's stream.`,
    { hint: 'This is the address of a web site. Check the base URL. Is /v1 missing at its end?' },
  );
}

/** A status text with non-Latin letters can be received but not set, so it is dropped. */
const latin = (text: string): string => (/[\u0100-\uffff]/.test(text) ? '' : text);

function bounded(body: ReadableStream<Uint8Array>, id: string): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const frame: ProviderModelFrame = { bytes: 0, isLineEmpty: true, isAfterCr: false };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      take(frame, value);
      if (frame.bytes <= MAX_FRAME) return controller.enqueue(value);
      controller.error(frameTooLarge(id));
      await reader.cancel();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The progress of the present frame and its last line. */
interface ProviderModelFrame {
  bytes: number;
  isLineEmpty: boolean;
  /** CR LF is a single line break. */
  isAfterCr: boolean;
}

const LF = 10;
const CR = 13;

/** An empty line ends a frame, however chunks are split. Some gateways send line by line. */
function take(frame: ProviderModelFrame, chunk: Uint8Array): void {
  let { bytes, isLineEmpty, isAfterCr } = frame;
  for (let at = 0; at < chunk.length; at++) {
    const byte = chunk[at];
    bytes++;
    if (byte === LF && isAfterCr) isAfterCr = false;
    else if (byte === LF || byte === CR) {
      if (isLineEmpty) bytes = 0;
      isLineEmpty = true;
      isAfterCr = byte === CR;
    } else {
      isLineEmpty = false;
      isAfterCr = false;
    }
  }
  frame.bytes = bytes;
  frame.isLineEmpty = isLineEmpty;
  frame.isAfterCr = isAfterCr;
}

const frameTooLarge = (id: string): RuntimeError =>
  modelFailed(
    'model_broke_off',
    `${id}: one frame of the stream has more than ${MAX_FRAME / 1024 / 1024} MiB.`,
    {
      hint: 'No provider sends such frames. Check the base URL, and any proxy in between.',
      retryable: false,
    },
  );
