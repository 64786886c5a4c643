import type { Json, JsonObject } from '../../kernel/json.ts';
import type { HttpResponse } from './http-request.ts';
import { bodyText, isJsonType } from './read-body.ts';

/** A response as a result: a body of JSON is a value, any other text, and bytes that are no text are left out. */
export function responseJson({ status, headers, url, body }: HttpResponse, asked: string): JsonObject {
  const type = headers['content-type'];
  const text = bodyText(body, type);
  return {
    status,
    ...(url === asked ? {} : { url }),
    headers,
    body: text === undefined ? null : body.isCut || !isJsonType(type) ? text : jsonOrText(text),
    ...(text === undefined ? { omitted: `${body.bytes.length} bytes that are no text` } : {}),
    ...(body.isCut ? { cut: `after ${body.bytes.length} bytes` } : {}),
  };
}

function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text; // a server that says JSON and sends something else
  }
}
