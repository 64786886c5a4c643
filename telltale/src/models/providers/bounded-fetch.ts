import type { RuntimeError } from '../../kernel/runtime-error.ts';
import { printable } from '../../manifest/printable.ts';
import { modelFailed } from '../model-errors.ts';

type Fetch = typeof globalThis.fetch;

/** Bytes that a provider may send without an empty line: more than any frame of a stream, or any answer that is none. */
const MAX_FRAME = 16 * 1024 * 1024;

/**
 * A `fetch` whose answers end with an error where a frame does not. What reads the frames of a stream gathers each to its
 * end before it looks at it: a server that never ends one would fill the memory. `id` is the model's.
 */
export const boundedFetch =
  (id: string, fetch: Fetch): Fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    const { body, status, statusText, headers } = response;
    if (body === null) return response;
    if (response.ok && /^text\/html\b/i.test(headers.get('content-type') ?? ''))
      throw isPage(id, urlOf(input), await beginningOf(body));
    return new Response(bounded(body, id), { status, statusText: latin(statusText), headers });
  };

const urlOf = (input: Parameters<Fetch>[0]): string => (input instanceof Request ? input.url : String(input));

/** Of a page only its title is of interest. */
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

/** What a server says beside the status may be read, but not given, in other letters: then it goes without. */
const latin = (text: string): string => (/[\u0100-\uffff]/.test(text) ? '' : text);

function bounded(body: ReadableStream<Uint8Array>, id: string): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const frame: Frame = { bytes: 0, isLineEmpty: true, isAfterCr: false };
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

/** How far the frame in hand is, and where its last line stands. */
interface Frame {
  bytes: number;
  isLineEmpty: boolean;
  /** A line break of CR LF is one. */
  isAfterCr: boolean;
}

const LF = 10;
const CR = 13;

/** An empty line ends a frame, wherever chunks are cut: there are gateways that send line by line. */
function take(frame: Frame, chunk: Uint8Array): void {
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
