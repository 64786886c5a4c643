import { frameOf, openFrame, withoutMarks } from '../../lib/calls.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { ModelUsage } from '../model.ts';
import type { ModelFailure } from '../model-errors.ts';

/** The text of a turn. Default ids contain its `number` in the session. Pure. */
export const turnText = (turn: ScriptSaying, number: number): string =>
  turn.say === undefined ? turn.text : textOfParts(turn.say, number);

export function textOfParts(parts: readonly ScriptPart[], number: number): string {
  let calls = 0;
  return parts
    .map((part) =>
      typeof part === 'string' ? withoutMarks(part) : textOfCall(part, `call_${number}_${++calls}`),
    )
    .join('');
}

function textOfCall({ call: name, id: given, input: written = {}, meta, cut }: ScriptCall, numbered: string) {
  const id = given ?? numbered;
  const input = typeof written === 'string' ? written : JSON.stringify(written);
  if (cut === true) return openFrame(id, name) + withoutMarks(input);
  return frameOf({ id, name, input, ...(meta === undefined ? {} : { meta }) });
}

/** What the latest messages must contain, or must not contain. */
export type Expectation = { readonly contains: string } | { readonly notContains: string };

/** A native tool call. */
export interface ScriptCall {
  /** The tool's name. */
  readonly call: string;
  /** The provider's id. `call_TURN_N` by default, both counted from 1. */
  readonly id?: string;
  /** `{}` by default. Text is streamed unchanged, whether or not it is JSON. */
  readonly input?: JsonObject | string;
  /** Data that the provider needs back with the call. */
  readonly meta?: JsonObject;
  /** The stream breaks off inside the input. Only for the last part, and not together with `meta`. */
  readonly cut?: true;
}

/** Prose, or a call. Parts follow each other without separators. */
export type ScriptPart = string | ScriptCall;

/** The output of the model: a text that contains native calls as frames (lib/calls.ts), or its parts. */
export type ScriptSaying =
  | { readonly text: string; readonly say?: never }
  | { readonly say: readonly ScriptPart[]; readonly text?: never };

export type ScriptTurn = ScriptSaying & ScriptTurnOptions;

export interface ScriptTurnOptions {
  /** The provider's reasoning, which comes before the text. */
  readonly reasoning?: string;
  /** A token is four characters. Without a pace, everything comes at once. */
  readonly tokensPerSecond?: number;
  /** How many characters come at a time. */
  readonly chunk?: number;
  /** The delay before the first character. */
  readonly delayMs?: number;
  readonly expect?: readonly Expectation[];
  /** The stream breaks off after this many characters of the text. */
  readonly failAfter?: number;
  /** The error it breaks off with. `model_broke_off` by default. */
  readonly failWith?: ModelFailure;
  readonly usage?: ModelUsage;
  readonly finish?: 'stop' | 'length';
  /** Its place in the file, for errors: `x.yml:12`. */
  readonly place?: string;
}

/** The model's side of a conversation. */
export interface Script {
  readonly turns: readonly ScriptTurn[];
  /** The turn of the session that `turns` starts with. 1 by default. */
  readonly firstTurn?: number;
  /** The default for turns that set none. */
  readonly tokensPerSecond?: number;
  readonly chunk?: number;
  /** Whether it starts again after the last turn. */
  readonly loop?: boolean;
  /** The context window that the model reports. */
  readonly contextWindow?: number;
}

export const CHARACTERS_A_TOKEN = 4;
export const DEFAULT_CHUNK = 4;
