/** What can be read of something a provider's package threw, or sent as an error in mid-stream. */
export interface Seen {
  readonly name: string;
  readonly message: string;
  /** Of the HTTP response, or what the error amounts to. */
  readonly status: number | undefined;
  readonly type: string | undefined;
  /** In words, such as `context_length_exceeded`. */
  readonly code: string | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string | undefined;
  /** Where the request went, without its path. */
  readonly origin: string | undefined;
  /** The error of the network beneath it. */
  readonly network: { readonly code: string } | undefined;
}

/**
 * Looks at what it has rather than at what it is an instance of: several copies of the AI SDK may be installed, and
 * what comes in mid-stream is plain data. Pure.
 */
export function seeFailure(thrown: unknown): Seen {
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
    headers: record(top.responseHeaders) as Seen['headers'],
    body: text(top.responseBody),
    origin: originOf(text(top.url)),
    network: network === undefined ? undefined : { code: network },
  };
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** What the types and codes of errors in mid-stream stand for. */
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
  // An error class has a type of its own making, if any: only plain data is read by its words.
  if (top instanceof Error) return undefined;
  const words = `${type ?? ''} ${text(data.code) ?? ''}`;
  return STATUS_OF_TYPE.find(([pattern]) => pattern.test(words))?.[1];
}

const MAX_CAUSES = 8;

/** The code of the system's or undici's error at the bottom. */
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
