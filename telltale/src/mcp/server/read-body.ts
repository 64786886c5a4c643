import type { IncomingMessage } from 'node:http';
import { INVALID_REQUEST, type MessageRefusal, PARSE_ERROR, refusal } from './read-message.ts';

/** Of one request. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** The JSON of a request's body, or what is to be answered where there is none. */
export async function readBody(
  request: IncomingMessage,
): Promise<{ readonly value: unknown } | { readonly refused: MessageRefusal; readonly status: number }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // What is too long is answered, too: the request stays open for that.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES)
      return {
        refused: refusal(INVALID_REQUEST, `A request has more than ${MAX_BODY_BYTES} bytes.`),
        status: 413,
      };
    chunks.push(chunk);
  }
  try {
    return { value: JSON.parse(Buffer.concat(chunks).toString('utf8')) };
  } catch (thrown) {
    return {
      refused: refusal(PARSE_ERROR, `That is no JSON: ${(thrown as SyntaxError).message}`),
      status: 400,
    };
  }
}
