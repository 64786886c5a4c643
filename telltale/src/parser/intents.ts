import type { ActionEnvelope, ActionKind, ActionMode } from '../lib/calls.ts';
import type { JsonObject } from '../lib/json.ts';

/** Prose that streams: a thought or a response. */
export type SpeechTag = 'thought' | 'response';

/** Where a tag stands: outside every thought and response, or in the innermost of them. */
export type Place = 'outside' | SpeechTag;

/** An action as the model asked for it. `kind`, `mode` and `name` may be missing only where `template` is given. */
export interface ActionIntent extends ActionEnvelope {
  readonly type: 'action';
  readonly kind?: ActionKind;
  readonly mode?: ActionMode;
  readonly name?: string;
  readonly repaired?: true;
}

/** What a dialect hears in a model's stream, in the order in which it was said. */
export type ParserEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'open'; readonly tag: 'thought'; readonly depth: number }
  | { readonly type: 'open'; readonly tag: 'response'; readonly depth: number; readonly final: boolean }
  | { readonly type: 'delta'; readonly tag: SpeechTag; readonly text: string }
  | {
      readonly type: 'close';
      readonly tag: SpeechTag;
      readonly truncated?: true;
      /** Of a response, where it was said only after it had opened: counts in place of what `open` says. */
      readonly final?: boolean;
    }
  | ActionIntent
  | { readonly type: 'metadata'; readonly value: JsonObject; readonly repaired?: true }
  /** Variables to set; only the dialect `step` says it so. */
  | { readonly type: 'variables'; readonly value: JsonObject; readonly repaired?: true }
  | { readonly type: 'if'; readonly test: string; readonly body: 'open' | 'else' | 'close' }
  | {
      readonly type: 'foreach';
      readonly in: string;
      readonly as: string;
      readonly actions: readonly ActionIntent[];
    }
  | {
      readonly type: 'parallel';
      readonly id?: string;
      readonly body: 'open' | 'close';
    }
  | { readonly type: 'fault'; readonly code: FaultCode; readonly message: string };

/** What a parser finds wrong with a model's writing. Its message quotes nothing but what the model wrote. */
export const FAULT_CODES = [
  'no_body',
  'tag_too_long',
  'fence_left_open',
  'not_in_response',
  'not_here',
  'stray_close',
  'thought_left_open',
  'truncated',
  'bad_json',
  'body_too_large',
  'bad_action',
  'bad_attribute',
  'duplicate_id',
  'reserved_tag',
  'in_doubt',
  'unsealed',
] as const;

export type FaultCode = (typeof FAULT_CODES)[number];
