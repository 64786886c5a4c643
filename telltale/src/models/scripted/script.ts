import { frameOf, openFrame, withoutMarks } from '../../lib/calls.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { ModelUsage } from '../model.ts';
import type { ModelFailure } from '../model-errors.ts';

/** What a turn says as one text, in turn `number` of a session, which default ids hold. Pure. */
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

/** What must, or must not, stand in what the model was told since it last spoke. */
export type Expectation = { readonly contains: string } | { readonly notContains: string };

/** A native tool call. */
export interface ScriptCall {
  /** The tool's name. */
  readonly call: string;
  /** The provider's id: `call_TURN_N` by default, both counted from 1. */
  readonly id?: string;
  /** `{}` by default. Text is streamed as it is, JSON or not. */
  readonly input?: JsonObject | string;
  /** What the provider wants to see again with the call. */
  readonly meta?: JsonObject;
  /** The stream breaks off in the input. Only of the last part, and without `meta`. */
  readonly cut?: true;
}

/** Prose, or a call. Parts follow each other with nothing in between. */
export type ScriptPart = string | ScriptCall;

/** What the model says: a text, with native calls in it as frames (lib/calls.ts), or its parts. */
export type ScriptSaying =
  | { readonly text: string; readonly say?: never }
  | { readonly say: readonly ScriptPart[]; readonly text?: never };

export type ScriptTurn = ScriptSaying & ScriptTurnOptions;

export interface ScriptTurnOptions {
  /** A provider's own reasoning; comes before the text. */
  readonly reasoning?: string;
  /** A token is four characters. Without it everything comes at once. */
  readonly tokensPerSecond?: number;
  /** Characters that come at a time. */
  readonly chunk?: number;
  /** Before the first character. */
  readonly delayMs?: number;
  readonly expect?: readonly Expectation[];
  /** The stream breaks off after so many characters of the text. */
  readonly failAfter?: number;
  /** What it breaks off with: `model_broke_off` by default. */
  readonly failWith?: ModelFailure;
  readonly usage?: ModelUsage;
  readonly finish?: 'stop' | 'length';
  /** Where it is written, as errors show it: `x.yml:12`. */
  readonly place?: string;
}

/** A model's side of a conversation, written down. */
export interface Script {
  readonly turns: readonly ScriptTurn[];
  /** The turn of the session that `turns` begins with: 1 by default. */
  readonly firstTurn?: number;
  /** For turns that do not say their own. */
  readonly tokensPerSecond?: number;
  readonly chunk?: number;
  /** Whether it begins again after the last turn. */
  readonly loop?: boolean;
  /** Tokens the model says it can read. */
  readonly contextWindow?: number;
}

export const CHARACTERS_A_TOKEN = 4;
export const DEFAULT_CHUNK = 4;
