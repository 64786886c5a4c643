import type { Clock } from '../../lib/clock.ts';

type EndedFetch = typeof globalThis.fetch;

/** How a wire format marks the end of an answer. */
export interface EndOfStream {
  /** Matched at the beginning of a line, so it starts with a line break. */
  readonly mark: RegExp;
  /**
   * `mark`: the stream ends before the mark. `frame`: the frame with the mark is the last one. `pause`: what follows is
   * only awaited for a short time.
   */
  readonly last: 'mark' | 'frame' | 'pause';
}

/**
 * Chat completions end with `[DONE]`, and responses end with an event that contains the usage. The AI SDK's package
 * reads on after both, so it would include a following answer, and would never end if the server keeps the connection
 * open.
 */
export const OPENAI_END: readonly EndOfStream[] = [
  { mark: /[\r\n]data:[ \t]*\[DONE\]/, last: 'mark' },
  {
    mark: /[\r\n](?:event:[ \t]*|data:[ \t]*\{"type":[ \t]*")response\.(?:completed|incomplete|failed)\b/,
    last: 'frame',
  },
];

/**
 * Google's format has no end mark, because some models send the finish reason with every piece. So what follows still
 * counts, but is awaited only for a short time.
 */
export const GOOGLE_END: readonly EndOfStream[] = [
  { mark: /[{,][ \t\r\n]*"finishReason"[ \t]*:[ \t]*"/, last: 'pause' },
];

/** How long to wait for the rest of an answer that may be complete. */
const PAUSE_MS = 5_000;
/** How much of the previous data is kept, because a mark may start in it. */
const TAIL = 64;

/** A `fetch` whose responses end where the model's answer ends, whatever the server sends or keeps open after it. */
export const endedFetch =
  (ends: readonly EndOfStream[], clock: Clock, fetch: EndedFetch): EndedFetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    const { body, ok, status, statusText, headers } = response;
    if (body === null || !ok || !/^text\/event-stream\b/i.test(headers.get('content-type') ?? ''))
      return response;
    return new Response(ended(body, ends, clock), { status, statusText, headers });
  };

function ended(
  body: ReadableStream<Uint8Array>,
  ends: readonly EndOfStream[],
  clock: Clock,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let tail = '\n';
  let last: EndOfStream['last'] | undefined;
  let disarm: (() => void) | undefined;
  const finish = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    disarm?.();
    controller.close();
    // The rest is not needed, and neither is an error from cancelling it.
    reader.cancel().catch(() => undefined);
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let isOver = false;
      if (last === 'pause')
        disarm = clock.after(PAUSE_MS, () => {
          isOver = true;
          finish(controller);
        });
      const { done, value } = await reader.read().finally(() => disarm?.());
      if (isOver) return;
      if (done) return controller.close();
      const text = tail + latin1(value);
      const found = last === 'frame' ? undefined : firstOf(ends, text);
      last = found?.last ?? last;
      // The line break before a mark belongs to the previous line.
      const from = found === undefined ? 0 : found.at + 1;
      const end = last === 'mark' ? from : last === 'frame' ? endOfFrame(text, from) : -1;
      if (end === -1) {
        // In the last frame, text before its start is dropped.
        tail = text.slice(Math.max(last === 'frame' ? from : 0, text.length - TAIL));
        return controller.enqueue(value);
      }
      const kept = end - tail.length;
      if (kept > 0) controller.enqueue(value.subarray(0, kept));
      finish(controller);
    },
    cancel(reason) {
      disarm?.();
      return reader.cancel(reason);
    },
  });
}

/** One character per byte, which is enough because marks are ASCII. */
const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

function firstOf(ends: readonly EndOfStream[], text: string) {
  for (const { mark, last } of ends) {
    const found = mark.exec(text);
    if (found !== null) return { last, at: found.index };
  }
  return undefined;
}

/** The position after the empty line that ends the frame. */
function endOfFrame(text: string, from: number): number {
  const found = /\r\n\r\n|\n\n|\r\r/.exec(text.slice(from));
  return found === null ? -1 : from + found.index + found[0].length;
}
