import { parseTemplate, type Template } from '../../expressions/templates/parse-template.ts';
import { resolveTemplate } from '../../expressions/templates/resolve-template.ts';
import { asText } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { needForUrl } from '../access/approval-need.ts';
import { bodyText, httpRequest, idempotencyHeader, isJsonType } from '../http/http-request.ts';
import { outputTooLarge } from '../output/output.ts';
import { textProgress } from '../process/run-process.ts';
import type { TargetCall } from '../target.ts';
import type { TargetDeps } from '../target-deps.ts';
import type { ImplementationContext, ToolImplementation } from './implementation.ts';

interface HttpImplementation {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Json | undefined;
}

const MAX_SHOWN_BODY = 500;

/**
 * A whole segment of dots, which encoding does not protect: `users/..` would be a different URL than the manifest's.
 */
const CLIMBS = /^[^?#]*\/\.\.?(?:[/?#]|$)/;

/**
 * Sends a request to a host that the agent may reach. Parameters in the URL are encoded, except at its very beginning,
 * where a parameter may be the URL itself. The result is the body: a value if it is JSON, otherwise text. A status of
 * 400 or more is a failure.
 */
export function httpTool(
  { method, url, headers, body }: HttpImplementation,
  { what, parameterNames, maxBytes, wantsJson, stream }: ImplementationContext,
  { permissions, resolveHost, own }: TargetDeps,
): ToolImplementation {
  const read = (text: string) => parseTextTemplate(text, what, parameterNames);
  const address = read(url);
  const named = Object.entries(headers).map(([name, value]) => [name, read(value)] as const);
  const fillBody = body === undefined ? undefined : readBodyTemplate(body, read);

  const filled = (scope: TextScope, first?: string) =>
    address.fill(scope, (text, offset) => (offset === 0 ? (first ?? text) : encodeURIComponent(text)));
  const mayClimb = CLIMBS.test(url);
  const urlFor = (scope: TextScope) => {
    const whole = filled(scope);
    if (!mayClimb && CLIMBS.test(filled(scope, ''))) throw climbs(what, whole);
    return whole;
  };

  const run: ToolImplementation['run'] = async (parameters, call) => {
    const scope = templateScope(parameters, call);
    const content = fillBody?.(scope);
    const response = await httpRequest(
      {
        what,
        method,
        url: urlFor(scope),
        headers: {
          ...(typeof body === 'object' ? { 'content-type': 'application/json' } : {}),
          ...idempotencyHeader(method, call.idempotencyKey),
          ...Object.fromEntries(named.map(([name, value]) => [name.toLowerCase(), value.fill(scope)])),
        },
        body: content === undefined || typeof content === 'string' ? content : JSON.stringify(content),
        maxBytes,
        signal: call.signal,
        granted: call.granted,
        onChunk: stream ? chunkProgress(call) : undefined,
      },
      { hosts: permissions.hosts, resolveHost, own },
    );
    const type = response.headers['content-type'];
    const text = bodyText(response.body, type);
    if (response.status >= 400) throw badStatus(what, response.status, text ?? '');
    if (text === undefined) throw noText(what, type ?? 'of an unknown type');
    if (response.body.isTruncated) throw outputTooLarge(what, maxBytes);
    if (!wantsJson && !isJsonType(type)) return text;
    return parseBody(text, what);
  };
  if (!permissions.hosts.asks) return { run };
  return {
    run,
    needs: (parameters, context) =>
      needForUrl(permissions.hosts, method, urlFor(templateScope(parameters, context)), what),
  };
}

/** Reports each piece of the body as `{text}`, as it arrives. */
function chunkProgress(call: TargetCall): (chunk: Buffer) => void {
  const show = textProgress((data) => call.progress({ text: (data as { readonly text: string }).text }));
  return (chunk) => show('stdout', chunk);
}

type FillBody = (scope: TextScope) => Json | undefined;

/** Every text inside the body is a template of its own. `{name}` alone becomes the parameter's value with its type. */
function readBodyTemplate(
  body: Json,
  read: (text: string) => ReturnType<typeof parseTextTemplate>,
): FillBody {
  if (typeof body === 'string') {
    const text = read(body);
    return (scope) => text.fill(scope);
  }
  return readValue(body, read);
}

function readValue(value: Json, read: (text: string) => ReturnType<typeof parseTextTemplate>): FillBody {
  if (typeof value === 'string') return read(value).value;
  if (typeof value !== 'object' || value === null) return () => value;
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => readValue(item, read));
    return (scope) => items.map((item) => item(scope) ?? null);
  }
  const entries = Object.entries(value as JsonObject).map(
    ([key, inner]) => [key, readValue(inner, read)] as const,
  );
  // A missing parameter omits its property.
  return (scope) =>
    Object.fromEntries(
      entries.flatMap(([key, inner]) => {
        const filled = inner(scope);
        return filled === undefined ? [] : [[key, filled]];
      }),
    );
}

function parseBody(text: string, what: string): Json {
  try {
    return text.trim() === '' ? null : (JSON.parse(text) as Json);
  } catch (cause) {
    throw new RuntimeError('bad_output', `The response to ${what} should be JSON, but is not.`, {
      cause,
    });
  }
}

const climbs = (what: string, address: string) =>
  new RuntimeError(
    'bad_parameters',
    `A parameter of ${what} is "." or "..", which would lead to another URL: ${address.slice(0, 200)}`,
    { hint: 'Give a plain name.' },
  );

const badStatus = (what: string, status: number, text: string) =>
  new RuntimeError(
    'http_failed',
    `The request of ${what} failed with status ${status}${text.trim() === '' ? '.' : `: ${text.trim().slice(0, MAX_SHOWN_BODY)}`}`,
    { retryable: status === 429 || status >= 500 },
  );

const noText = (what: string, type: string) =>
  new RuntimeError('bad_output', `The response to ${what} is not text: it is ${type}.`);

/** The values a template can use: `{name}` of the parameters, `${agent.…}` of the snapshot. */
export interface TextScope {
  readonly input: JsonObject;
  readonly agent: JsonObject;
}

/** The scope of one call. The snapshot is only read by a template that uses it. */
export const templateScope = (input: JsonObject, call: { readonly agent: () => JsonObject }): TextScope => ({
  input,
  get agent() {
    return call.agent();
  },
});

/** A parsed text of a manifest with `{name}` and `${agent.…}` in it. */
export interface TextTemplate {
  /** Whether it depends on parameters. */
  readonly usesInput: boolean;
  /** The names in braces. */
  readonly names: readonly string[];
  /**
   * Fills the template as text. Values are inserted once and never searched for references. `encode` is for values in a
   * URL.
   */
  fill(scope: TextScope, encode?: (text: string, offset: number) => string): string;
  /** The value itself if the whole text is one `{name}` or one `${agent.…}`. Otherwise the same as `fill`. */
  value(scope: TextScope): Json | undefined;
}

/** The same braces that validation of the manifest looks for: a name and nothing else. */
const BRACES = /(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;

const WHOLE = /^\{([A-Za-z_][A-Za-z0-9_-]*)\}$/;

/** Stands for all parameters if it is the whole text. Inside a longer text it has no meaning. */
const ALL = '{*}';

const allParameters: TextTemplate = {
  usesInput: true,
  names: [],
  fill: ({ input }) => JSON.stringify(input),
  value: ({ input }) => JSON.stringify(input),
};

/**
 * Parses a template. `declared` are the names of parameters, and other braces are plain text. A missing parameter is
 * empty. Without `declared`, every name in braces is a parameter. `{*}` alone is all parameters as JSON.
 */
export function parseTextTemplate(
  source: string,
  what: string,
  declared?: ReadonlySet<string>,
): TextTemplate {
  if (source === ALL) return allParameters;
  const parsed = parseTemplate(source);
  if (!parsed.ok) throw badTemplate(source, what, parsed.error[0]?.message ?? '');
  const { pieces } = parsed.value;
  const isParameter = (name: string) => declared === undefined || declared.has(name);
  const whole = WHOLE.exec(source)?.[1];
  const names = pieces.flatMap((piece) =>
    piece.kind === 'text' ? [...piece.text.matchAll(BRACES)].map(([, name = '']) => name) : [],
  );

  const fill: TextTemplate['fill'] = (scope, encode = (text) => text) => {
    let filled = '';
    for (const piece of pieces) {
      if (piece.kind !== 'text') {
        const value = asText(reference({ source: piece.source, pieces: [piece] }, scope, what));
        filled += encode(value, piece.offset);
        continue;
      }
      filled += piece.text.replace(BRACES, (braces, name: string, at: number) =>
        isParameter(name) ? encode(textOf(scope.input, name), piece.offset + at) : braces,
      );
    }
    return filled;
  };

  return {
    usesInput: names.some(isParameter),
    names: [...new Set(names)].filter(isParameter),
    fill,
    value(scope) {
      if (whole !== undefined && isParameter(whole)) return own(scope.input, whole);
      const [only] = pieces;
      if (pieces.length === 1 && only?.kind === 'reference') return reference(parsed.value, scope, what);
      return fill(scope);
    },
  };
}

const own = (input: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(input, name) ? input[name] : undefined;

function textOf(input: JsonObject, name: string): string {
  const value = own(input, name);
  return value === undefined || value === null ? '' : asText(value);
}

function reference(template: Template, scope: TextScope, what: string): Json {
  const resolved = resolveTemplate(template, { agent: scope.agent });
  if (resolved.ok) return resolved.value;
  const { message, hint } = resolved.error;
  throw new RuntimeError('bad_reference', `A template of ${what} cannot be filled: ${message}`, { hint });
}

const badTemplate = (source: string, what: string, why: string) =>
  new RuntimeError('bad_template', `A template of ${what} cannot be read: ${why}`, {
    hint: `It is ${JSON.stringify(source.slice(0, 100))}.`,
  });
