import type { GivenPart, ProviderPart } from '../lib/calls.ts';
import type { JsonObject } from '../lib/json.ts';

/** The result of a native tool call, as the model sees it. */
export interface ToolAnswer {
  /** The provider's id of the call. */
  readonly call: string;
  readonly name: string;
  readonly text: string;
  readonly failed?: true;
}

/** A message of the conversation. */
export interface ModelMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  /** Native calls of the assistant are embedded as frames (lib/calls.ts). For role `tool`, all answers in a row. */
  readonly text: string;
  /** Only for role `tool`: one answer for each call in the preceding assistant message. */
  readonly answers?: readonly ToolAnswer[];
  /** Only for role `assistant`: parts that the provider needs back together with the text. */
  readonly parts?: readonly ProviderPart[];
}

/** A tool that the model can call natively. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly parameters: JsonObject;
}

/** Sampling options with the names of the AI SDK. Absent options are left to the provider. */
export interface ModelCallOptions {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly stopSequences?: readonly string[];
}

export interface ModelRequest extends ModelCallOptions {
  readonly system: string;
  /** Only ever appended to, from turn to turn. It may be the same array each time. */
  readonly messages: readonly ModelMessage[];
  /** Counts requests from 1. A scripted model continues from it after a restart. */
  readonly turn: number;
  /**
   * How many characters of this turn's answer are on the log from before a restart. They are at the end of `messages`,
   * with open tags closed.
   */
  readonly said?: number;
  /** The same for each restart: the characters since the previous one. */
  readonly saidParts?: readonly number[];
  readonly signal: AbortSignal;
  /** The time limit for the first token, if the caller sets one. */
  readonly firstTokenMs?: number;
  /**
   * The tools that the model can call natively, in the dialects `tools` and `step`. The same in every turn of a
   * session.
   */
  readonly tools?: readonly ModelTool[];
  /** The tool that it must call, exactly once. Without it, it may call any tool or none. */
  readonly toolChoice?: string;
  /** Writes a native call as text, for models that make one although no tools were offered. */
  readonly writeCall?: (name: string, input: string) => string;
}

/** The parts of a request that are shown besides the conversation. */
export type LookedAtRequest = Pick<ModelRequest, 'tools' | 'toolChoice' | keyof ModelCallOptions>;

/** Receives a model's stream. Called synchronously as pieces arrive. Must not throw. */
export interface ModelSink {
  /**
   * Receives prose, and native tool calls as frames (lib/calls.ts). Each frame is closed as soon as its input is
   * complete.
   */
  text(delta: string): void;
  /** Receives the provider's reasoning, if it is separate from the text. */
  reasoning(delta: string): void;
  /** Receives a complete part that the provider needs back. Its position is after all text so far. */
  part?(part: GivenPart): void;
}

export interface ModelUsage {
  readonly input: number;
  readonly output: number;
  /** The input tokens that came from the provider's cache. */
  readonly cached?: number;
  /** The input tokens that were written to the provider's cache. */
  readonly written?: number;
  /** The output tokens that were reasoning. */
  readonly reasoning?: number;
}

export interface ModelEnd {
  readonly finish: 'stop' | 'length';
  /** Undefined if the provider reported none. */
  readonly usage?: ModelUsage;
}

/** Dollars per million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly written?: number;
}

/**
 * A language model. `stream` resolves at the end of the stream. It rejects with a RuntimeError (`model_…`, with
 * `retryable`, and `retryAfterMs` from `Retry-After`) if the stream breaks off or cannot start. Output already passed
 * to the sink stays valid. After an abort it soon rejects with code `model_cancelled`.
 */
export interface Model {
  /** `anthropic/claude-sonnet-4-5`, `scripted:./x.yml`. */
  readonly id: string;
  /** How many tokens fit into a request, if known. */
  readonly contextWindow?: number;
  /** Undefined if the price is unknown. */
  readonly price?: ModelPrice;
  stream(request: ModelRequest, sink: ModelSink): Promise<ModelEnd>;
  /**
   * The options of such a request besides conversation and tools, as the provider would get them. For people who
   * inspect a prompt.
   */
  requestOptions?(request: LookedAtRequest): Promise<JsonObject>;
}
