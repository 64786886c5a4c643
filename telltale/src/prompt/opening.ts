import type { PromptFrame } from '../events/turn-event.ts';
import { estimateTokens } from '../kernel/estimate-tokens.ts';
import { NONE } from '../kernel/grow.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { blockStyle } from './block-style.ts';
import type { CallStyle } from './calls/call-style.ts';
import type { PartLimits } from './part-limits.ts';
import type { PromptPart, PromptTool } from './prompt.ts';
import { framePrint } from './prompt-hash.ts';
import type { BlockStyle } from './render-block.ts';

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
  tools = NONE,
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
