import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { urlNeed } from '../access/need.ts';
import { httpRequest } from '../http/http-request.ts';
import { idempotencyHeader } from '../http/idempotency-header.ts';
import { bodyText, isJsonType } from '../http/read-body.ts';
import { outputTooLarge } from '../output/output-limits.ts';
import { textProgress } from '../process/text-progress.ts';
import type { TargetCall } from '../target.ts';
import type { TargetDeps } from '../target-edges.ts';
import { type FillScope, fillScope, readFilling } from './fill-template.ts';
import type { Implemented, ToolContext } from './implementation.ts';

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
  { what, parameterNames, maxBytes, wantsJson, stream }: ToolContext,
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
