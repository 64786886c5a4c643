import type { RuntimeError } from '../../kernel/runtime-error.ts';
import { modelFailed } from '../model-errors.ts';

type Fetch = typeof globalThis.fetch;

/** Bytes that a provider may send without an empty line: more than any frame of a stream, or any answer that is none. */
const MAX_FRAME = 16 * 1024 * 1024;

/**
 * A `fetch` whose answers end with an error where a frame does not. What reads the frames of a stream gathers each to its
 * end before it looks at it: a server that never ends one would fill the memory. `id` is the model's.
 */
export const boundedFetch =
  (id: string, fetch: Fetch = globalThis.fetch): Fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    const { body, status, statusText, headers } = response;
    return body === null ? response : new Response(bounded(body, id), { status, statusText, headers });
  };

function bounded(body: ReadableStream<Uint8Array>, id: string): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let open = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      open = bytesOpen(open, value);
      if (open <= MAX_FRAME) return controller.enqueue(value);
      controller.error(frameTooLarge(id));
      await reader.cancel();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

const EMPTY_LINES = ['\n\n', '\n\r\n', '\r\r'];

/** Behind the last empty line. One that two chunks share is not seen: frames are small, and the next one is. */
function bytesOpen(before: number, chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const last = Math.max(...EMPTY_LINES.map((line) => bytes.lastIndexOf(line)));
  return last === -1 ? before + bytes.length : bytes.length - last;
}

const frameTooLarge = (id: string): RuntimeError =>
  modelFailed(
    'model_broke_off',
    `${id}: one frame of the stream has more than ${MAX_FRAME / 1024 / 1024} MiB.`,
    {
      hint: 'No provider sends such frames: check the base URL, and what stands between here and there.',
      retryable: false,
    },
  );
