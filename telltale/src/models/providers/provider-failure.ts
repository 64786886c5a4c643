import { RuntimeError } from '../../lib/errors.ts';
import { printable } from '../../manifest/diagnostic.ts';
import { contextFiguresIn, saysTooLong, withContextFigures } from '../context-exceeded.ts';
import { type ModelFailure, modelFailed, NO_SUCH_MODEL } from '../model-errors.ts';
import { readRetryAfter, withRetryAfter } from '../retry.ts';

export interface FailureContext {
  readonly id: string;
  readonly nowMs: number;
  /** Whether the request offered tools. If not, messages about tools do not concern it. */
  readonly hasTools?: boolean;
  readonly keyVariable?: string;
  readonly secrets?: readonly string[];
  /** The hint for a stream that broke off without a visible reason. */
  readonly hint?: string;
  /** The base URL, if known. */
  readonly baseURL?: string;
}

const MAX_MESSAGE = 600;

/**
 * Turns whatever a provider threw or sent into one of our errors. The original is not kept as its cause, because it
 * contains the whole prompt. Pure.
 */
export function providerFailure(thrown: unknown, context: FailureContext): RuntimeError {
  const own = ownError(thrown);
  if (own !== undefined) return own;
  const seen = seeFailure(thrown);
  const { status } = seen;
  const nonsense = nonsenseIn(thrown);
  if (nonsense !== undefined) return sentNonsense(nonsense, context);
  const error =
    status === undefined || status < 400
      ? transportFailure(seen, context)
      : statusFailure(status, seen, context);
  return withRetryAfter(error, error.retryable ? retryAfterOf(seen, context.nowMs) : undefined);
}

/** One of our own errors about the connection that came back through the provider's package. */
function ownError(thrown: unknown): RuntimeError | undefined {
  if (thrown instanceof RuntimeError) return thrown;
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return cause instanceof RuntimeError ? cause : undefined;
}

const MAX_NONSENSE = 120;

/**
 * What the server sent in place of a frame, as far as the AI SDK's packages tell. Their own message is a list of
 * everything that was possible.
 */
function nonsenseIn(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { text, value } = thrown as { readonly text?: unknown; readonly value?: unknown };
  switch (thrown.name) {
    case 'AI_JSONParseError':
      return typeof text === 'string' ? text : '';
    case 'AI_TypeValidationError':
      return JSON.stringify(value) ?? '';
    default:
      // Anthropic's package gives no details about an unreadable first frame.
      return thrown.message === 'Expected a normalized Anthropic stream error' ? '' : undefined;
  }
}

function sentNonsense(nonsense: string, { id, baseURL, hint, secrets }: FailureContext): RuntimeError {
  const line = onOneLine(nonsense, secrets);
  const shown = line.length > MAX_NONSENSE ? `${line.slice(0, MAX_NONSENSE)}…` : line;
  const server = baseURL === undefined ? 'the server' : placeOf(baseURL);
  return modelFailed(
    'model_broke_off',
    `${id}: ${server} sent data that is not part of a model's stream${shown === '' ? '.' : `: ${shown}`}`,
    { hint: hint ?? GARBLED },
  );
}

const GARBLED =
  'Something between here and the model changes its answer. Check the proxy or the gateway. What arrived before is kept.';

/** A base URL without parts that may be secret. */
export const placeOf = (baseURL: string): string => {
  const { origin, pathname } = new URL(baseURL);
  return origin + pathname;
};

const BAD_KEY = /api[ _-]?key (?:not valid|is invalid|invalid|expired)|API_KEY_INVALID|invalid x-api-key/i;
/** Messages of Ollama, vLLM, llama.cpp, OpenRouter, OpenAI, Groq, Bedrock and Google. */
const NO_TOOLS =
  /(?:doesn't|does not|do not|don't|not) support(?:ed)?(?: (?:for|the|parameters?:?))? [`"']?(?:tool|function)|[`"']?(?:tools?|tool[ _]choice|tool (?:use|call(?:s|ing)?)|function call(?:s|ing)?)[`"']? (?:is|are) not (?:supported|enabled)|no endpoints found that support tool|tool choice requires --enable-auto-tool-choice|tools param requires --jinja/i;
/** One request is larger than the limit per minute. Waiting does not help, but a shorter prompt does. */
const LARGER_THAN_LIMIT = /request too large for/i;
/** Matches codes only, because Google also mentions billing in limits per minute. */
const NO_MONEY = /insufficient_quota|billing_not_active|credit balance/i;

function statusFailure(status: number, seen: ProviderFailureSeen, context: FailureContext): RuntimeError {
  const said = saidBy(seen, context);
  const all = `${seen.message} ${seen.type ?? ''} ${seen.code ?? ''} ${seen.body ?? ''}`;
  const fail = (code: ModelFailure, hint?: string, retryable?: boolean) =>
    modelFailed(
      code,
      `${context.id}: the provider responded with status ${status}${said === '' ? '.' : `: ${said}`}`,
      {
        ...(hint === undefined ? {} : { hint }),
        ...(retryable === undefined ? {} : { retryable }),
      },
    );
  if (status === 401 || status === 403 || (status === 400 && BAD_KEY.test(all)))
    return fail('model_refused_key', keyHint(context));
  if (status !== 429 && context.hasTools === true && NO_TOOLS.test(all)) return fail('model_no_tools');
  if (status === 429 && !LARGER_THAN_LIMIT.test(all))
    return NO_MONEY.test(all) ? fail('model_rate_limited', PAY, false) : fail('model_rate_limited');
  if (status === 413 || saysTooLong(all))
    return withContextFigures(fail('model_context_exceeded'), contextFiguresIn(all));
  if (status === 408 || status === 504) return fail('model_timeout');
  if (status === 409 || status >= 500) return fail('model_overloaded');
  return status === 404 ? fail('model_bad_request', NO_SUCH_MODEL) : fail('model_bad_request');
}

const PAY = "Your account has no credit left. See the provider's billing page.";

const keyHint = ({ keyVariable }: FailureContext) =>
  keyVariable === undefined
    ? undefined
    : `Check that ${keyVariable} is right and that the key may use this model.`;

const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const SLOW = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);
const TLS = /CERT|SELF_SIGNED|UNABLE_TO_|^ERR_(?:TLS|SSL)/;

/** There was no response, or it could not be read completely. */
function transportFailure(seen: ProviderFailureSeen, context: FailureContext): RuntimeError {
  const { network } = seen;
  const at = seen.origin === undefined ? 'the provider' : seen.origin;
  if (network !== undefined) {
    const { code } = network;
    if (SLOW.has(code)) return modelFailed('model_timeout', `${context.id}: ${at} did not answer (${code}).`);
    if (TLS.test(code))
      return modelFailed(
        'model_unreachable',
        `${context.id}: ${at} has a certificate that is not trusted (${code}).`,
        {
          hint: 'If the server has its own certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.',
          retryable: false,
        },
      );
    if (UNREACHABLE.has(code))
      return modelFailed('model_unreachable', `${context.id}: ${at} cannot be reached (${code}).`);
    return modelFailed(
      'model_broke_off',
      `${context.id}: the connection to ${at} was interrupted (${code}).`,
    );
  }
  const said = saidBy(seen, context);
  if (saysTooLong(said))
    return withContextFigures(
      modelFailed('model_context_exceeded', `${context.id}: ${said}`),
      contextFiguresIn(`${said} ${seen.body ?? ''}`),
    );
  if (context.hasTools === true && seen.name === 'AI_UnsupportedFunctionalityError' && /tool/i.test(said))
    return modelFailed('model_no_tools', `${context.id}: ${said}`);
  if (CALLERS_FAULT.has(seen.name)) return modelFailed('model_bad_request', `${context.id}: ${said}`);
  if (seen.name === 'AI_LoadAPIKeyError')
    return modelFailed('model_refused_key', `${context.id}: ${said}`, { hint: keyHint(context) });
  return modelFailed(
    'model_broke_off',
    `${context.id}: the stream broke off${said === '' ? '.' : `: ${said}`}`,
    context.hint === undefined ? {} : { hint: context.hint },
  );
}

/** Errors of a provider's package before it sends a request. */
const CALLERS_FAULT = new Set([
  'AI_InvalidArgumentError',
  'AI_InvalidPromptError',
  'AI_NoSuchModelError',
  'AI_UnsupportedFunctionalityError',
]);

/** The provider's message: on one line, shortened, and without keys. */
function saidBy({ message, body }: ProviderFailureSeen, { secrets }: FailureContext): string {
  const isJson = body !== undefined && /^\s*[{[]/.test(body);
  const words = body === undefined || isJson || body.trim() === '' ? message : `${message} ${body}`;
  const line = onOneLine(words, secrets);
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line;
}

function onOneLine(words: string, secrets: readonly string[] = []): string {
  const safe = secrets.reduce((text, secret) => (secret === '' ? text : text.replaceAll(secret, '…')), words);
  return printable(safe).replace(/\s+/g, ' ').trim();
}

/** Google's delay is in the body: `"retryDelay": "30s"`. */
const RETRY_DELAY = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/;

function retryAfterOf({ headers, body }: ProviderFailureSeen, nowMs: number): number | undefined {
  const asked = readRetryAfter(headers, nowMs);
  if (asked !== undefined) return asked;
  const seconds = RETRY_DELAY.exec(body ?? '')?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** The readable parts of an error thrown by a provider's package, or sent in the middle of a stream. */
export interface ProviderFailureSeen {
  readonly name: string;
  readonly message: string;
  /** The status of the HTTP response, or the equivalent of the error. */
  readonly status: number | undefined;
  readonly type: string | undefined;
  /** A code in words, such as `context_length_exceeded`. */
  readonly code: string | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string | undefined;
  /** The origin of the request, without its path. */
  readonly origin: string | undefined;
  /** The underlying network error. */
  readonly network: { readonly code: string } | undefined;
}

/**
 * Reads the properties of an error and not its class, because several copies of the AI SDK may be installed, and errors
 * in the middle of a stream are plain data. Pure.
 */
function seeFailure(thrown: unknown): ProviderFailureSeen {
  const top = record(thrown);
  const inner = record(top.error);
  const data = typeof inner.message === 'string' ? inner : top;
  const type = text(data.type) ?? text(data.status);
  const network = networkCode(thrown);
  return {
    name: text(top.name) ?? '',
    message: text(data.message) ?? (typeof thrown === 'string' ? thrown : ''),
    status: statusOf(top, data, type),
    type,
    code: text(data.code),
    headers: record(top.responseHeaders) as ProviderFailureSeen['headers'],
    body: text(top.responseBody),
    origin: originOf(text(top.url)),
    network: network === undefined ? undefined : { code: network },
  };
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The HTTP status that types and codes of errors in a stream correspond to. */
const STATUS_OF_TYPE: readonly (readonly [RegExp, number])[] = [
  [/overloaded|unavailable/i, 529],
  [/rate_?limit|quota|resource_exhausted/i, 429],
  [/authentication|permission|api_key/i, 401],
  [/not_found/i, 404],
  [/context_length|invalid|bad_request/i, 400],
  [/timeout|deadline/i, 504],
  [/server_error|api_error|internal/i, 500],
];

function statusOf(
  top: Readonly<Record<string, unknown>>,
  data: Readonly<Record<string, unknown>>,
  type: string | undefined,
): number | undefined {
  for (const value of [top.statusCode, data.statusCode, data.code, data.status]) {
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof status === 'number' && status >= 100 && status < 600) return status;
  }
  // Classes of errors define types of their own, so only plain data is matched by words.
  if (top instanceof Error) return undefined;
  const words = `${type ?? ''} ${text(data.code) ?? ''}`;
  return STATUS_OF_TYPE.find(([pattern]) => pattern.test(words))?.[1];
}

const MAX_CAUSES = 8;

/** The code of the innermost error of the system or of undici. */
function networkCode(thrown: unknown): string | undefined {
  let found: string | undefined;
  let error: unknown = thrown;
  for (let depth = 0; depth < MAX_CAUSES && error instanceof Error; depth++) {
    const { code } = error as { readonly code?: unknown };
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code)) found = code;
    error = error.cause;
  }
  return found;
}

function originOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;
}
