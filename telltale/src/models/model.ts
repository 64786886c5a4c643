import type { GivenPart, ProviderPart } from '../lib/calls.ts';
import type { JsonObject } from '../lib/json.ts';

/** What one native tool call brought, as the model is told. */
export interface ToolAnswer {
  /** The provider's id of the call. */
  readonly call: string;
  readonly name: string;
  readonly text: string;
  readonly failed?: true;
}

/** A message of the conversation, as the runtime builds it. */
export interface ModelMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  /** The assistant's native calls stand in it as frames (lib/calls.ts); of `tool`, all answers in a row. */
  readonly text: string;
  /** Of role `tool`, and only there: one for each call of the assistant's message before it. */
  readonly answers?: readonly ToolAnswer[];
  /** Of role `assistant`: what providers want back with the text. */
  readonly parts?: readonly ProviderPart[];
}

/** A tool that the model may call natively. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly parameters: JsonObject;
}

/** Sampling options, by the names of the AI SDK. What is absent is left to the provider. */
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
  /** Grows from turn to turn and is never changed before its end: it may be the same array each time. */
  readonly messages: readonly ModelMessage[];
  /** Counts requests from 1 on: a scripted model goes on from it after a restart. */
  readonly turn: number;
  /**
   * Characters of this turn's answer that are on the log from before a restart. They stand at the end of `messages`; tags that
   * were open there are closed.
   */
  readonly said?: number;
  /** The same for each restart: how many characters had been said since the one before it. */
  readonly saidParts?: readonly number[];
  readonly signal: AbortSignal;
  /** How long the first word may take, where the caller has a limit for it. */
  readonly firstTokenMs?: number;
  /** What the model may call natively, in the dialects `tools` and `step`; the same in every turn of a session. */
  readonly tools?: readonly ModelTool[];
  /** The tool that it must call, exactly once; without it, it is free to call any, or none. */
  readonly toolChoice?: string;
  /** How a native call reads as text, for models that make one although no tools were offered. */
  readonly writeCall?: (name: string, input: string) => string;
}

/** What of a request is shown beside the conversation. */
export type LookedAtRequest = Pick<ModelRequest, 'tools' | 'toolChoice' | keyof ModelCallOptions>;

/** Where a model's stream goes. Called synchronously, as pieces come in; must not throw. */
export interface ModelSink {
  /** Prose; and native tool calls as frames (lib/calls.ts), each closed as soon as its input is complete. */
  text(delta: string): void;
  /** A provider's own reasoning, where it is given apart from the text. */
  reasoning(delta: string): void;
  /** A part that the provider wants back, once all of it has come; it stands behind all text so far. */
  part?(part: GivenPart): void;
}

export interface ModelUsage {
  readonly input: number;
  readonly output: number;
  /** Of the input, what came from the provider's cache. */
  readonly cached?: number;
  /** Of the input, what was written to the provider's cache. */
  readonly written?: number;
  /** Of the output, what was reasoning. */
  readonly reasoning?: number;
}

export interface ModelEnd {
  readonly finish: 'stop' | 'length';
  /** Undefined where the provider gave none. */
  readonly usage?: ModelUsage;
}

/** Dollars for a million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly written?: number;
}

/**
 * A language model. `stream` ends with the stream, and rejects with a RuntimeError (`model_…`, `retryable` set;
 * `RetryAfter` in `retryAfterMs`) when it breaks off or cannot begin; what had been given to the sink stays given.
 * After an abort it rejects with code `model_cancelled`, soon.
 */
export interface Model {
  /** `anthropic/claude-sonnet-4-5`, `scripted:./x.yml`. */
  readonly id: string;
  /** Tokens that fit into a request, if known. */
  readonly contextWindow?: number;
  /** Undefined where nothing is known of it. */
  readonly price?: ModelPrice;
  stream(request: ModelRequest, sink: ModelSink): Promise<ModelEnd>;
  /** What such a request has beside conversation and tools, as the provider gets it: for people who look at a prompt. */
  requestOptions?(request: LookedAtRequest): Promise<JsonObject>;
}
