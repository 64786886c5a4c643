import { estimateTokens } from '../kernel/estimate-tokens.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { blockStyle } from './block-style.ts';
import type { CallStyle } from './calls/call-style.ts';
import type { PartLimits } from './part-limits.ts';
import type { PromptTool } from './prompt.ts';
import type { BlockStyle } from './render-block.ts';

/** What a request costs beside the text of a message. */
export const TOKENS_PER_MESSAGE = 4;

export interface ConversationOptions {
  /** Instructions and primer: fixed for the session. */
  readonly system: string;
  readonly agent: AgentManifest;
  /** The session's key, where `protocol.seal` is on. */
  readonly seal?: string | undefined;
  /** Where the model calls tools natively. */
  readonly calls?: CallStyle | undefined;
  /** Where the manifest cuts parts of the prompt. */
  readonly parts?: PartLimits | undefined;
  /** What it can call so: a provider puts them before the conversation. */
  readonly tools?: readonly PromptTool[] | undefined;
}

/** How a conversation begins, and how it is written: the same for all sessions of an agent that have no seal. */
export interface Opening {
  readonly system: string;
  /** Of the system prompt and of the tools. */
  readonly systemTokens: number;
  readonly style: BlockStyle;
  readonly calls: CallStyle | undefined;
}

export const openingOf = ({ system, agent, seal, calls, tools, parts }: ConversationOptions): Opening => ({
  system,
  systemTokens:
    estimateTokens(system) +
    (tools === undefined ? 0 : estimateTokens(JSON.stringify(tools))) +
    TOKENS_PER_MESSAGE,
  style: blockStyle(agent, seal, parts),
  calls,
});
