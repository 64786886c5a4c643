import type { Json, JsonObject } from './json.ts';

/** What an action can call. */
export const ACTION_KINDS = ['tool', 'agent', 'relic', 'workflow', 'llm', 'artifact', 'internal'] as const;
export type ActionKind = (typeof ACTION_KINDS)[number];

export const ACTION_MODES = ['sync', 'async', 'background', 'fire_and_forget'] as const;
export type ActionMode = (typeof ACTION_MODES)[number];

export const ON_ERROR = ['skip', 'fail', 'retry'] as const;
export type OnError = (typeof ON_ERROR)[number];

/** The fields of an action that a dialect, the log and the scheduler read alike. */
export interface ActionEnvelope {
  readonly id: string;
  /** References in them are resolved just before the start. */
  readonly parameters: JsonObject;
  /** Whether the parameters hold no references, whatever they look like. */
  readonly literal?: boolean;
  /** Also store the result under this name. */
  readonly output_key?: string;
  /** Ids that must have succeeded first. */
  readonly depends_on?: readonly string[];
  /** Seconds for each try. */
  readonly timeout?: number;
  /** Further tries after a failure. */
  readonly retry?: number;
  readonly on_error?: OnError;
  /** A CEL test over `metadata vars actions agent`. */
  readonly if?: string;
  /** An envelope, run to undo this one when the session rolls back. */
  readonly compensate?: JsonObject;
  readonly template?: string;
  /** The thought or response it stands in. */
  readonly in?: 'thought' | 'response';
}

/**
 * A part of a model's turn that its provider wants back as it came, in its place: reasoning that is signed or encrypted,
 * or what belongs to the text that ends here.
 */
export interface ProviderPart {
  readonly type: 'reasoning' | 'text';
  /** Characters of the turn's output that stand before it; of a text, at its end. */
  readonly at: number;
  /** The reasoning in words; absent where the provider keeps them to itself, and of a text, which is in the output. */
  readonly text?: string;
  /** What the provider gave with it, by provider: signatures, ids, encrypted contents. */
  readonly meta?: JsonObject;
  /** The model that it came from: others cannot read it. */
  readonly model: string;
}

/** The same before it is known where it stands. */
export type GivenPart = Omit<ProviderPart, 'at' | 'model'>;

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

/** Why an artifact did not decide, and its place's fallback counted. */
export type FallbackReason =
  | 'missing'
  | 'no_method'
  | 'threw'
  | 'timeout'
  | 'memory'
  | 'too_large'
  | 'wrong_type'
  | 'failed'
  | 'cycle'
  | 'depth'
  | 'unaffordable'
  | 'unavailable';

/** One decision that an artifact was asked for. */
export interface InvokeRecord {
  /** What was decided: `trigger NAME#0`, `step NAME: condition`, `hook before_action`. */
  readonly where: string;
  readonly artifact: string;
  /** The version that was asked; absent where there is none. */
  readonly version?: number;
  readonly method: string;
  readonly args: readonly Json[];
  /** What counts: the artifact's word, or the fallback. */
  readonly result: Json;
  /** Why the fallback counts; absent where the artifact decided. */
  readonly fallback?: { readonly reason: FallbackReason; readonly message: string };
  /** Whether the answer was given before in the same run, to the same question. */
  readonly cached: boolean;
  readonly ms: number;
  readonly cost: number;
}
