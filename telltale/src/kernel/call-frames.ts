import type { JsonObject } from './json.ts';

/**
 * A turn in which a model calls tools natively, as one text: prose as it is, and each call as a frame
 * `␞{"id":"call_1","name":"search"}⏎{"query":"x"}␞⏎`. What stands between the marks of a frame is the call's input as
 * the provider streamed it; behind the second one may stand what the provider wants back with the call. So a stream
 * of calls is recorded, cut off, replayed and read again like any other.
 */
export const FRAME_MARK = '\u001e';
/** Ends the first and the last line of a frame. */
export const FRAME_BREAK = '\n';

/** A native tool call. */
export interface ToolCall {
  /** The provider's. */
  readonly id: string;
  readonly name: string;
  /** JSON, as it was streamed; not checked. */
  readonly input: string;
  /** What the provider wants to see again with this call. */
  readonly meta?: JsonObject;
}

export type TurnPart =
  | { readonly type: 'text'; readonly text: string }
  | ({ readonly type: 'call' } & ToolCall)
  /** A call whose frame was never closed: the stream broke off in it. */
  | { readonly type: 'broken'; readonly name: string };

/** Prose and input as they may stand in a turn: a mark in them would begin or end a frame. */
export const withoutMarks = (text: string): string => text.replaceAll(FRAME_MARK, '\ufffd');

export const openFrame = (id: string, name: string): string =>
  FRAME_MARK + JSON.stringify({ id, name }) + FRAME_BREAK;

export const closeFrame = (meta?: JsonObject): string =>
  FRAME_MARK + (meta === undefined ? '' : withoutMarks(JSON.stringify(meta))) + FRAME_BREAK;

export const frameOf = ({ id, name, input, meta }: ToolCall): string =>
  openFrame(id, name) + withoutMarks(input) + closeFrame(meta);

/** The id and name in the first line of a frame, without its mark. */
export function readFrameHead(line: string): Pick<ToolCall, 'id' | 'name'> {
  try {
    const { id, name } = JSON.parse(line) as Partial<Record<string, unknown>>;
    return { id: String(id), name: String(name) };
  } catch {
    // Only `openFrame` writes heads; a log that was changed by hand must not end a session.
    return { id: '', name: '' };
  }
}

/** Takes a whole turn apart. Text without a mark is one part. */
export function readTurnParts(turn: string): readonly TurnPart[] {
  const parts: TurnPart[] = [];
  const say = (text: string) => {
    if (text !== '') parts.push({ type: 'text', text });
  };
  let at = 0;
  for (;;) {
    const mark = turn.indexOf(FRAME_MARK, at);
    if (mark === -1) break;
    say(turn.slice(at, mark));
    const headEnd = turn.indexOf(FRAME_BREAK, mark);
    const inputEnd = headEnd === -1 ? -1 : turn.indexOf(FRAME_MARK, headEnd);
    const frameEnd = inputEnd === -1 ? -1 : turn.indexOf(FRAME_BREAK, inputEnd);
    const head = headEnd === -1 ? { id: '', name: '' } : readFrameHead(turn.slice(mark + 1, headEnd));
    if (frameEnd === -1) {
      parts.push({ type: 'broken', name: head.name });
      return parts;
    }
    const meta = readMeta(turn.slice(inputEnd + 1, frameEnd));
    const input = turn.slice(headEnd + 1, inputEnd);
    parts.push({ type: 'call', ...head, input, ...(meta === undefined ? {} : { meta }) });
    at = frameEnd + 1;
  }
  say(turn.slice(at));
  return parts;
}

function readMeta(text: string): JsonObject | undefined {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return undefined; // as with a head
  }
}
