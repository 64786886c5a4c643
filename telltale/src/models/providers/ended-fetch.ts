import type { Clock } from '../../lib/clock.ts';

type EndedFetch = typeof globalThis.fetch;

/** How a wire format says that an answer is complete. */
export interface EndOfStream {
  /** Found at the beginning of a line; both begin with a line break. */
  readonly mark: RegExp;
  /** `mark`: nothing of it is needed. `frame`: the frame in which it stands is the last. `pause`: see `pausedAfter`. */
  readonly last: 'mark' | 'frame' | 'pause';
}

/**
 * Chat completions end with `[DONE]`, responses with an event that has the usage. The package of the AI SDK reads on behind
 * both: an answer that follows would be heard, and one whose server keeps the connection would never end.
 */
export const OPENAI_END: readonly EndOfStream[] = [
  { mark: /[\r\n]data:[ \t]*\[DONE\]/, last: 'mark' },
  {
    mark: /[\r\n](?:event:[ \t]*|data:[ \t]*\{"type":[ \t]*")response\.(?:completed|incomplete|failed)\b/,
    last: 'frame',
  },
];

/**
 * Google's format has no mark of its end: some models give the reason why they finished with every piece of the answer. So
 * what follows counts, but is not waited for as long as a word of the model.
 */
export const GOOGLE_END: readonly EndOfStream[] = [
  { mark: /[{,][ \t\r\n]*"finishReason"[ \t]*:[ \t]*"/, last: 'pause' },
];

/** How long the rest of an answer is waited for that may be complete. */
const PAUSE_MS = 5_000;
/** As much of what came before as a mark may begin in. */
const TAIL = 64;

/** A `fetch` whose answers end where the model's does, whatever the server sends or keeps open behind it. */
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
    // Nothing more is wanted of it, not even why it could not be given up.
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
      // The line break before a mark ends the line before it.
      const from = found === undefined ? 0 : found.at + 1;
      const end = last === 'mark' ? from : last === 'frame' ? endOfFrame(text, from) : -1;
      if (end === -1) {
        // Of the last frame nothing that stands before it.
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

/** One character for each byte: marks are of letters that have one. */
const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

function firstOf(ends: readonly EndOfStream[], text: string) {
  for (const { mark, last } of ends) {
    const found = mark.exec(text);
    if (found !== null) return { last, at: found.index };
  }
  return undefined;
}

/** Behind the empty line that ends the frame. */
function endOfFrame(text: string, from: number): number {
  const found = /\r\n\r\n|\n\n|\r\r/.exec(text.slice(from));
  return found === null ? -1 : from + found.index + found[0].length;
}
