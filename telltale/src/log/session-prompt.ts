import type { JsonObject } from '../lib/json.ts';
import type { Usage } from './session-events.ts';

/** A part of what stands before the messages. */
export interface CountedPart {
  readonly name: string;
  readonly text: string;
  readonly tokens: number;
}

/** What a message of a prompt holds, in order. */
export type PromptContent =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  /** A native tool call; `input` is JSON. */
  | { readonly type: 'call'; readonly id: string; readonly name: string; readonly input: string }
  /** What a native tool call brought. */
  | {
      readonly type: 'result';
      readonly call: string;
      readonly name: string;
      readonly text: string;
      readonly failed?: true;
    };

export interface CountedMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  /** The turn whose request had it first. Behind a summary, the oldest turn that is still there. */
  readonly turn: number;
  /** Whether the request of the turn before did not have it. */
  readonly new: boolean;
  readonly tokens: number;
  readonly content: readonly PromptContent[];
}

/** A part of a prompt that is not what was sent. */
export type PromptDifference = 'system' | 'tools' | 'options' | 'messages';

/** What the model was asked in a turn, rebuilt from the log. */
export interface SessionPrompt {
  readonly session: string;
  readonly agent: string;
  /** The model that the session was started with. */
  readonly model: string;
  readonly dialect: 'tags' | 'tools' | 'step';
  readonly turn: number;
  /** The session's newest turn. */
  readonly last: number;
  /** The event with which the turn began, and when that was. */
  readonly seq: number;
  readonly at: number;
  readonly system: readonly CountedPart[];
  readonly messages: readonly CountedMessage[];
  /** What is offered natively, each with its definition as JSON; empty in the dialect `tags`. */
  readonly tools: readonly CountedPart[];
  /** What else the runtime gives to the model: `toolChoice` in the dialect `step`. */
  readonly options: JsonObject;
  /**
   * What the provider's package adds to such a request, as it stands in its body: `max_tokens`, `store`, `stream` and the
   * like. Absent where it is not known: of scripted models, of a program's own, where the package is not installed.
   */
  readonly request?: JsonObject;
  /** Counted with the tokenizer of the o200k family; the provider's own figures are in `usage`. */
  readonly tokens: {
    readonly total: number;
    readonly system: number;
    readonly tools: number;
    readonly messages: number;
    /** Of the messages, those that are new. */
    readonly new: number;
  };
  /** What the request used. `cached` is what the provider's cache served of its input. Absent until it has ended. */
  readonly usage?: Usage;
  /** The hash of what was sent, as the log has it, and that of what is shown here. */
  readonly hash: { readonly sent?: string; readonly rebuilt: string };
  /** Whether what is shown is what was sent. `unknown`: the log has no hash to compare with. */
  readonly match: 'same' | 'differs' | 'unknown';
  /** What differs. Absent where nothing does, and where the log is of an earlier version and does not tell. */
  readonly differs?: readonly PromptDifference[];
  /** Why it may differ, or why nothing is known. */
  readonly note?: string;
}
