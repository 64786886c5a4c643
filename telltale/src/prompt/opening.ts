import { hash } from 'node:crypto';
import type { JsonObject } from '../lib/json.ts';
import { estimateTokens } from '../lib/tokens.ts';
import type { PromptFrame } from '../log/session-events.ts';
import type { CountedPart } from '../log/session-prompt.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { blockStyle } from './block-style.ts';
import type { CallStyle } from './calls/answer-calls.ts';
import type { PartLimits } from './part-limits.ts';
import type { PromptMessage, PromptPart, PromptTool } from './prompt.ts';
import type { BlockStyle } from './render-block.ts';

/** All that stands before a session's first message. */
export interface CountedOpening {
  readonly system: readonly CountedPart[];
  /** What is offered natively, each with its definition as JSON; empty in the dialect `tags`. */
  readonly tools: readonly CountedPart[];
  /** What else is given to the model with each request: `toolChoice` in the dialect `step`. */
  readonly options: JsonObject;
  /** What the provider's package adds to a request; absent where that is not known. */
  readonly request?: JsonObject;
  readonly tokens: number;
}

/** The system prompt by parts and the native tools, with what each costs by `count`. */
export function promptParts(
  { systemParts, tools, options }: Opening,
  count: (text: string) => number,
): CountedOpening {
  const system = systemParts.map(({ name, text }) => ({ name, text, tokens: count(text) }));
  const offered = tools.map((tool) => {
    const text = JSON.stringify(tool);
    return { name: tool.name, text, tokens: count(text) };
  });
  const tokens = [...system, ...offered].reduce((sum, part) => sum + part.tokens, 0);
  return { system, tools: offered, options, tokens };
}

/** What a request costs beside the text of a message. */
export const TOKENS_PER_MESSAGE = 4;

export interface ConversationOptions {
  /** Instructions and primer: fixed for the session. */
  readonly system: string;
  /** The same in parts; `system` is their texts, joined. */
  readonly systemParts?: readonly PromptPart[] | undefined;
  readonly agent: AgentManifest;
  /** The session's key, where `protocol.seal` is on. */
  readonly seal?: string | undefined;
  /** Where the model calls tools natively. */
  readonly calls?: CallStyle | undefined;
  /** Tokens that the model can read. */
  readonly contextWindow?: number | undefined;
  /** Where the manifest cuts parts of the prompt. */
  readonly parts?: PartLimits | undefined;
  /** What it can call so: a provider puts them before the conversation. */
  readonly tools?: readonly PromptTool[] | undefined;
  /** What else each request has, such as `toolChoice`. */
  readonly options?: JsonObject | undefined;
}

/** How a conversation begins, and how it is written: the same for all sessions of an agent that have no seal. */
export interface Opening {
  readonly system: string;
  readonly systemParts: readonly PromptPart[];
  /** What the model can call natively. */
  readonly tools: readonly PromptTool[];
  readonly options: JsonObject;
  /** The hashes of a request without messages. */
  readonly frame: PromptFrame;
  /** Of the system prompt and of the tools. */
  readonly systemTokens: number;
  readonly style: BlockStyle;
  readonly contextWindow: number;
  readonly calls: CallStyle | undefined;
}

const NO_OPTIONS: JsonObject = {};

export const openingOf = ({
  system,
  systemParts = [{ name: 'instructions', text: system }],
  agent,
  seal,
  calls,
  tools = [],
  options = NO_OPTIONS,
  parts,
  contextWindow = Number.POSITIVE_INFINITY,
}: ConversationOptions): Opening => ({
  system,
  systemParts,
  tools,
  options,
  frame: framePrint({ system, tools, options }),
  systemTokens:
    estimateTokens(system) +
    (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools))) +
    TOKENS_PER_MESSAGE,
  style: blockStyle(agent, seal, parts),
  contextWindow,
  calls,
});

/** What a request has before and beside its messages. */
export interface RequestFrame {
  readonly system: string;
  readonly tools: readonly PromptTool[];
  /** What else is given to the model, such as `toolChoice`. */
  readonly options: JsonObject;
}

/** Hexadecimal digits of a hash on the log: half of SHA-256. */
const HASH_CHARS = 32;
/** Of a hash that only tells one part from another. */
const PART_CHARS = 8;

/**
 * The hash of a prompt is made message by message, each over the hash of all before it: a turn costs no more than what
 * is new in it. This is the hash before the first message.
 */
const frameHash = ({ system, tools, options }: RequestFrame): string =>
  short(`${JSON.stringify(tools)}\n${JSON.stringify(options)}\n${system}`);

/** The hash with one message more. The text stands last, as it is: all before it has a fixed form. */
export function messageHash(before: string, { role, text, answers, parts }: PromptMessage): string {
  const beside = answers === undefined && parts === undefined ? '' : JSON.stringify([answers, parts]);
  return short(`${before}\n${role}\n${beside}\n${text}`);
}

/** The hash of a whole request. */
export const requestHash = (frame: RequestFrame, messages: readonly PromptMessage[]): string =>
  hashWith(frameHash(frame), messages);

/** The hash of a request whose messages stand behind what has the hash `frame`. */
export const hashWith = (frame: string, messages: readonly PromptMessage[]): string =>
  messages.reduce(messageHash, frame);

/** What the log has of a frame. */
const framePrint = (frame: RequestFrame): PromptFrame => ({
  hash: frameHash(frame),
  system: short(frame.system, PART_CHARS),
  tools: short(JSON.stringify(frame.tools), PART_CHARS),
  options: short(JSON.stringify(frame.options), PART_CHARS),
});

const short = (text: string, chars = HASH_CHARS): string => hash('sha256', text, 'hex').slice(0, chars);
