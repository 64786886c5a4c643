import type { Context } from 'hono';
import { isJsonObject, type JsonObject } from '../../kernel/json.ts';
import { badRequest } from '../http/http-errors.ts';
import type { AppEnv } from '../server-edges.ts';

const MAX_ID_CHARS = 256;

/** The body, which is an object. Throws `bad_json` or `bad_request`. */
export async function readObject(c: Context<AppEnv>): Promise<JsonObject> {
  let body: unknown;
  try {
    body = await c.req.json();
  } catch {
    throw badRequest('The body is no JSON.', 'Send a JSON object with "content-type: application/json".');
  }
  if (!isJsonObject(body))
    throw badRequest(`The body is ${kindOf(body)}, not an object.`, 'Send a JSON object.');
  return body;
}

/** A field that names something: text of 1 to 256 characters. */
export function readId(body: JsonObject, field: string): string {
  const value = body[field];
  if (typeof value !== 'string' || value === '' || value.length > MAX_ID_CHARS)
    throw badRequest(
      `"${field}" is ${typeof value === 'string' ? `a text of ${value.length} characters` : kindOf(value)}.`,
      `Send a text of 1 to ${MAX_ID_CHARS} characters.`,
    );
  return value;
}

export function optionalText(body: JsonObject, field: string): string | undefined {
  return body[field] === undefined || body[field] === null ? undefined : readId(body, field);
}

/** As messages call a value: `a number`, `a list`, `missing`. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/**
 * The text of a message's content: a string, or a list of parts, of which those of type `text` count. `strict`: another
 * part is refused, since the agent would not see it; otherwise it is named.
 */
export function contentText(content: unknown, where: string, strict: boolean): string {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content;
  if (!Array.isArray(content))
    throw badRequest(`${where} has a content that is ${kindOf(content)}.`, 'Send text, or a list of parts.');
  return content
    .map((part: unknown) => {
      if (!isJsonObject(part)) throw badRequest(`${where} has a part that is ${kindOf(part)}.`, PART);
      if (part.type === 'text' && typeof part.text === 'string') return part.text;
      if (part.type === 'text') throw badRequest(`${where} has a part without its text.`, PART);
      if (strict)
        throw badRequest(
          `${where} has a part of type ${JSON.stringify(part.type ?? null)}, which agents cannot be given.`,
          'Send text; put files where the agent can read them, and say where.',
        );
      return `[${String(part.type)}]`;
    })
    .join('');
}

const PART = 'A part is {"type": "text", "text": "…"}.';
