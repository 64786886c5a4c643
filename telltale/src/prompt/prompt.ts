import type { ProviderPart } from '../lib/calls.ts';
import type { JsonObject } from '../lib/json.ts';
import type { PromptFrame } from '../log/session-events.ts';

/** A message of the conversation: the runtime's blocks are the user's, what the model wrote is the assistant's. */
export interface PromptMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** Of role `tool`: what each native call of the message before it brought. */
  readonly answers?: readonly {
    readonly call: string;
    readonly name: string;
    readonly text: string;
    readonly failed?: true;
  }[];
  /** Of role `assistant`: what the provider wants back with the text. */
  readonly parts?: readonly ProviderPart[];
}

/** A tool that the model may call natively. */
export interface PromptTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly parameters: JsonObject;
}

/** What a part of the system prompt is about, in the order in which they stand. */
export type PromptPartName =
  | 'instructions'
  | 'protocol'
  | 'example'
  | 'tools'
  | 'internal actions'
  | 'templates'
  | 'metadata'
  | 'variables'
  | 'feeds'
  | 'steps'
  | 'output'
  | 'environment'
  | 'limits';

/** A part of the system prompt. The texts of all of them, joined without a separator, are the prompt as it is sent. */
export interface PromptPart {
  readonly name: PromptPartName;
  readonly text: string;
}

/** What a turn is asked with. */
export interface Prompt {
  readonly system: string;
  /** Only ever added to, and shared by all prompts of a conversation that is not short: of it, the first `count` are this one. */
  readonly messages: readonly PromptMessage[];
  readonly count: number;
  /** Characters of the system prompt and all messages. */
  readonly chars: number;
  /** An estimate. */
  readonly tokens: number;
  /** Of all that is given to the model: prompt-hash.ts. */
  readonly hash: string;
  /** Of what stands before and beside the messages. */
  readonly frame: PromptFrame;
}

/**
 * The part of `previous` that `next` begins with, from 0 to 1. Without a comparison where both are of one
 * conversation: a message that stands in it never changes. Without a previous prompt nothing was lost: 1.
 */
export function reusedPrefix(previous: Prompt | undefined, next: Prompt): number {
  if (previous === undefined || previous.chars === 0) return 1;
  const grown =
    previous.messages === next.messages && previous.system === next.system && previous.count <= next.count;
  return grown ? 1 : commonPrefix(previous, next) / previous.chars;
}

/** How many characters both prompts begin with, compared one by one. A message of another role has none in common. */
export function commonPrefix(a: Prompt, b: Prompt): number {
  let common = sharedLength(a.system, b.system);
  if (common < a.system.length || common < b.system.length) return common;
  for (let i = 0; i < a.count && i < b.count; i++) {
    const one = a.messages[i] as PromptMessage;
    const other = b.messages[i] as PromptMessage;
    if (one.role !== other.role) return common;
    const shared = sharedLength(one.text, other.text);
    common += shared;
    if (shared < one.text.length || shared < other.text.length) return common;
  }
  return common;
}

function sharedLength(a: string, b: string): number {
  if (a === b) return a.length;
  const end = Math.min(a.length, b.length);
  let i = 0;
  while (i < end && a.charCodeAt(i) === b.charCodeAt(i)) i++;
  return i;
}
