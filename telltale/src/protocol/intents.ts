import type { JsonObject } from '../kernel/json.ts';

/** What an action can call. `context_feed` in a tag is another name for `internal`. */
export const ACTION_KINDS = ['tool', 'agent', 'relic', 'workflow', 'llm', 'artifact', 'internal'] as const;
export type ActionKind = (typeof ACTION_KINDS)[number];

export const ACTION_MODES = ['sync', 'async', 'fire_and_forget'] as const;
export type ActionMode = (typeof ACTION_MODES)[number];

export const ON_ERROR = ['skip', 'fail', 'retry'] as const;
export type OnError = (typeof ON_ERROR)[number];

/** Prose that streams: a thought or a response. */
export type SpeechTag = 'thought' | 'response';

/** Where a tag stands: outside every thought and response, or in the innermost of them. */
export type Place = 'outside' | SpeechTag;

/** An action as the model asked for it. `kind`, `mode` and `name` may be missing only where `template` is given. */
export interface ActionIntent {
  readonly type: 'action';
  readonly id: string;
  readonly kind?: ActionKind;
  readonly mode?: ActionMode;
  readonly name?: string;
  readonly parameters: JsonObject;
  readonly output_key?: string;
  readonly depends_on?: readonly string[];
  /** Seconds for each try. */
  readonly timeout?: number;
  readonly retry?: number;
  readonly on_error?: OnError;
  readonly if?: string;
  readonly compensate?: JsonObject;
  readonly template?: string;
  readonly in?: SpeechTag;
  readonly repaired?: true;
}

export type FaultCode =
  | 'no_body'
  | 'tag_too_long'
  | 'fence_left_open'
  | 'not_in_response'
  | 'not_here'
  | 'stray_close'
  | 'thought_left_open'
  | 'truncated'
  | 'bad_json'
  | 'body_too_large'
  | 'bad_action'
  | 'bad_attribute'
  | 'duplicate_id'
  | 'reserved_tag'
  | 'in_doubt'
  | 'unsealed';

/** What a dialect hears in a model's stream, in the order in which it was said. */
export type ParserEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'open'; readonly tag: 'thought'; readonly depth: number }
  | { readonly type: 'open'; readonly tag: 'response'; readonly depth: number; readonly final: boolean }
  | { readonly type: 'delta'; readonly tag: SpeechTag; readonly text: string }
  | { readonly type: 'close'; readonly tag: SpeechTag; readonly truncated?: true }
  | ActionIntent
  | { readonly type: 'metadata'; readonly value: JsonObject; readonly repaired?: true }
  | { readonly type: 'if'; readonly test: string; readonly body: 'open' | 'else' | 'close' }
  | {
      readonly type: 'foreach';
      readonly in: string;
      readonly as: string;
      readonly actions: readonly ActionIntent[];
    }
  | { readonly type: 'parallel'; readonly id?: string; readonly body: 'open' | 'close' }
  | { readonly type: 'fault'; readonly code: FaultCode; readonly message: string };
