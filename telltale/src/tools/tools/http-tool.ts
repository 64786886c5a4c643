import { parseTemplate, type Template } from '../../expressions/templates/parse-template.ts';
import { resolveTemplate } from '../../expressions/templates/resolve-template.ts';
import { asText } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { urlNeed } from '../access/need.ts';
import { bodyText, httpRequest, idempotencyHeader, isJsonType } from '../http/http-request.ts';
import { outputTooLarge } from '../output/output.ts';
import { textProgress } from '../process/run-process.ts';
import type { TargetCall } from '../target.ts';
import type { TargetDeps } from '../target-edges.ts';
import type { ImplementationContext, Implemented } from './implementation.ts';

interface HttpImplementation {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Json | undefined;
}

const MAX_SHOWN_BODY = 500;

/** A whole segment of dots, which no encoding keeps: `users/..` would be another address than the manifest's. */
const CLIMBS = /^[^?#]*\/\.\.?(?:[/?#]|$)/;

/**
 * A request to a host that the agent may reach. Parameters in the address are encoded, except at its very beginning,
 * where one may be the address itself. The result is the body: a value if it is JSON, else text. A status of 400 or
 * more is a failure.
 */
export function httpTool(
  { method, url, headers, body }: HttpImplementation,
  { what, parameterNames, maxBytes, wantsJson, stream }: ImplementationContext,
  { permissions, resolveHost, own }: TargetDeps,
): Implemented {
  const read = (text: string) => readFilling(text, what, parameterNames);
  const address = read(url);
  const named = Object.entries(headers).map(([name, value]) => [name, read(value)] as const);
  const fillBody = body === undefined ? undefined : readBodyTemplate(body, read);

  const filled = (scope: FillScope, first?: string) =>
    address.fill(scope, (text, offset) => (offset === 0 ? (first ?? text) : encodeURIComponent(text)));
  const mayClimb = CLIMBS.test(url);
  const urlFor = (scope: FillScope) => {
    const whole = filled(scope);
    if (!mayClimb && CLIMBS.test(filled(scope, ''))) throw climbs(what, whole);
    return whole;
  };

  const run: Implemented['run'] = async (parameters, call) => {
    const scope = fillScope(parameters, call);
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
    if (response.body.isCut) throw outputTooLarge(what, maxBytes);
    if (!wantsJson && !isJsonType(type)) return text;
    return parseBody(text, what);
  };
  if (!permissions.hosts.asks) return { run };
  return {
    run,
    needs: (parameters, context) =>
      urlNeed(permissions.hosts, method, urlFor(fillScope(parameters, context)), what),
  };
}

/** Each piece of the body as `{text}`, as it comes. */
function chunkProgress(call: TargetCall): (chunk: Buffer) => void {
  const show = textProgress((data) => call.progress({ text: (data as { readonly text: string }).text }));
  return (chunk) => show('stdout', chunk);
}

type FillBody = (scope: FillScope) => Json | undefined;

/** In a value every text is a template of its own: `{name}` alone takes the parameter's value with its type. */
function readBodyTemplate(body: Json, read: (text: string) => ReturnType<typeof readFilling>): FillBody {
  if (typeof body === 'string') {
    const text = read(body);
    return (scope) => text.fill(scope);
  }
  return readValue(body, read);
}

function readValue(value: Json, read: (text: string) => ReturnType<typeof readFilling>): FillBody {
  if (typeof value === 'string') return read(value).value;
  if (typeof value !== 'object' || value === null) return () => value;
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => readValue(item, read));
    return (scope) => items.map((item) => item(scope) ?? null);
  }
  const entries = Object.entries(value as JsonObject).map(
    ([key, inner]) => [key, readValue(inner, read)] as const,
  );
  // A parameter that was not given leaves its property out.
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
    throw new RuntimeError('bad_output', `The response to ${what} is no JSON, though it should be.`, {
      cause,
    });
  }
}

const climbs = (what: string, address: string) =>
  new RuntimeError(
    'bad_parameters',
    `A parameter of ${what} is "." or "..", which would lead to another address: ${address.slice(0, 200)}`,
    { hint: 'Give the name of the thing itself.' },
  );

const badStatus = (what: string, status: number, text: string) =>
  new RuntimeError(
    'http_failed',
    `The request of ${what} was answered with ${status}${text.trim() === '' ? '.' : `: ${text.trim().slice(0, MAX_SHOWN_BODY)}`}`,
    { retryable: status === 429 || status >= 500 },
  );

const noText = (what: string, type: string) =>
  new RuntimeError('bad_output', `The response to ${what} is no text: it is ${type}.`);

/** What a template sees: `{name}` of the parameters, `${agent.…}` of the snapshot. */
export interface FillScope {
  readonly input: JsonObject;
  readonly agent: JsonObject;
}

/** The scope of one call: the snapshot is read only by a template that names it. */
export const fillScope = (input: JsonObject, call: { readonly agent: () => JsonObject }): FillScope => ({
  input,
  get agent() {
    return call.agent();
  },
});

/** A text of a manifest with `{name}` and `${agent.…}` in it, read once. */
export interface Filling {
  /** Whether it depends on parameters. */
  readonly usesInput: boolean;
  /** Names in braces. */
  readonly names: readonly string[];
  /** As text. Values are put in once and never read for references; `encode` is for what stands in an address. */
  fill(scope: FillScope, encode?: (text: string, offset: number) => string): string;
  /** The value itself where the whole text is one `{name}` or one `${agent.…}`, else as `fill`. */
  value(scope: FillScope): Json | undefined;
}

/** The same braces as the manifest's check looks for: a name and nothing else. */
const BRACES = /(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;

const WHOLE = /^\{([A-Za-z_][A-Za-z0-9_-]*)\}$/;

/** Stands for all parameters where it is the whole text. Inside a longer text it is text. */
const ALL = '{*}';

const allParameters: Filling = {
  usesInput: true,
  names: [],
  fill: ({ input }) => JSON.stringify(input),
  value: ({ input }) => JSON.stringify(input),
};

/**
 * `declared` are the names that stand for parameters; other braces are text. A parameter that was not given is empty.
 * Without `declared` every name in braces is a parameter. `{*}` alone is all parameters as JSON.
 */
export function readFilling(source: string, what: string, declared?: ReadonlySet<string>): Filling {
  if (source === ALL) return allParameters;
  const parsed = parseTemplate(source);
  if (!parsed.ok) throw badTemplate(source, what, parsed.error[0]?.message ?? '');
  const { pieces } = parsed.value;
  const isParameter = (name: string) => declared === undefined || declared.has(name);
  const whole = WHOLE.exec(source)?.[1];
  const names = pieces.flatMap((piece) =>
    piece.kind === 'text' ? [...piece.text.matchAll(BRACES)].map(([, name = '']) => name) : [],
  );

  const fill: Filling['fill'] = (scope, encode = (text) => text) => {
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

function reference(template: Template, scope: FillScope, what: string): Json {
  const resolved = resolveTemplate(template, { agent: scope.agent });
  if (resolved.ok) return resolved.value;
  const { message, hint } = resolved.error;
  throw new RuntimeError('bad_reference', `A template of ${what} cannot be filled: ${message}`, { hint });
}

const badTemplate = (source: string, what: string, why: string) =>
  new RuntimeError('bad_template', `A template of ${what} cannot be read: ${why}`, {
    hint: `It is ${JSON.stringify(source.slice(0, 100))}.`,
  });
