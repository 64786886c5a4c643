/** One event of a stream. */
export interface SseEvent {
  /** The last id that the stream has given, with this event or before it. */
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface SseListener {
  event(event: SseEvent): void;
  /** The stream says how long to wait before coming back. */
  retry(ms: number): void;
}

/** Reads `text/event-stream`. */
export interface SseReader {
  /** False once an event is longer than the limit: nothing of it is kept, and nothing more is taken. */
  push(chunk: Uint8Array): boolean;
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const MAX_ID = 1_024;

/** Holds `maxBytes` of one event at the most. Events without data come too where they bring an id. */
export function createSseReader(maxBytes: number, listener: SseListener): SseReader {
  let parts: Uint8Array[] = [];
  let size = 0;
  let isOver = false;
  let isFirst = true;
  let afterReturn = false;
  let id: string | undefined;
  let hasId = false;
  let event = '';
  let data: string[] = [];

  const dispatch = () => {
    if (data.length > 0 || hasId)
      listener.event({ id, event: event === '' ? 'message' : event, data: data.join('\n') });
    hasId = false;
    event = '';
    data = [];
    size = 0;
  };
  const take = (line: string) => {
    if (line === '') return dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return; // a comment, which keeps the connection open
    const field = colon === -1 ? line : line.slice(0, colon);
    const rest = colon === -1 ? '' : line.slice(colon + 1);
    const value = rest.startsWith(' ') ? rest.slice(1) : rest;
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id' && !value.includes('\0') && value.length <= MAX_ID) {
      id = value === '' ? undefined : value;
      hasId = true;
    } else if (field === 'retry' && /^\d{1,9}$/.test(value)) listener.retry(Number(value));
  };
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const finish = (last: Uint8Array) => {
    const bytes = parts.length === 0 ? last : joined([...parts, last]);
    parts = [];
    const line = decoder.decode(bytes);
    // What counts for an event is what it keeps: comments may come for ever.
    if (line.startsWith(':')) size -= bytes.byteLength;
    take(isFirst && line.startsWith('\ufeff') ? line.slice(1) : line);
    isFirst = false;
  };

  return {
    push(chunk) {
      let from = 0;
      if (afterReturn && chunk.length > 0) {
        if (chunk[0] === LINE_FEED) from = 1;
        afterReturn = false;
      }
      while (!isOver && from < chunk.length) {
        const end = endOfLine(chunk, from);
        const part = chunk.subarray(from, end === -1 ? chunk.length : end);
        size += part.length;
        if (size > maxBytes) {
          isOver = true;
          parts = [];
          data = [];
          break;
        }
        if (end === -1) {
          parts.push(part);
          return true;
        }
        finish(part);
        from = end + 1;
        if (chunk[end] !== CARRIAGE_RETURN) continue;
        if (from === chunk.length) afterReturn = true;
        else if (chunk[from] === LINE_FEED) from++;
      }
      return !isOver;
    },
  };
}

function endOfLine(chunk: Uint8Array, from: number): number {
  const feed = chunk.indexOf(LINE_FEED, from);
  const before = feed === -1 ? chunk : chunk.subarray(0, feed);
  const carriage = before.indexOf(CARRIAGE_RETURN, from);
  return carriage === -1 ? feed : carriage;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
