import type { JsonObject } from '../../lib/json.ts';
import type { ModelCallOptions } from '../model.ts';

/**
 * The models of all AI SDK providers, in each version of the interface. Declared here, so that programs compile without
 * the AI SDK's packages.
 */
export interface LanguageModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream }>;
}

export type ProviderOptions = Readonly<Record<string, Readonly<Record<string, string | boolean | object>>>>;

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
}

export interface ReasoningPart {
  readonly type: 'reasoning';
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
}

/** The content of an assistant's message. */
export type SaidPart = TextPart | ReasoningPart | ToolCallPart;

export interface ToolCallPart {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: JsonObject;
  readonly providerOptions?: ProviderOptions;
}

export interface ToolResultPart {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: { readonly type: 'text' | 'error-text'; readonly value: string };
}

/** A message in a form that all versions of the interface accept. */
export type LanguageModelPromptMessage = { readonly providerOptions?: ProviderOptions } & (
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: readonly TextPart[] }
  | { readonly role: 'assistant'; readonly content: readonly SaidPart[] }
  | { readonly role: 'tool'; readonly content: readonly ToolResultPart[] }
);

export interface FunctionTool {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export type ToolChoice = { readonly type: 'auto' } | { readonly type: 'tool'; readonly toolName: string };

export interface LanguageModelCallOptions extends ModelCallOptions {
  readonly prompt: readonly LanguageModelPromptMessage[];
  readonly abortSignal: AbortSignal;
  readonly tools?: readonly FunctionTool[];
  readonly toolChoice?: ToolChoice;
  readonly includeRawChunks?: boolean;
  readonly providerOptions?: ProviderOptions;
}

/** Usage in V3 and V4, then in V2. */
export type PartUsage =
  | {
      readonly inputTokens: {
        readonly total: number | undefined;
        readonly cacheRead: number | undefined;
        readonly cacheWrite: number | undefined;
      };
      readonly outputTokens: { readonly total: number | undefined; readonly reasoning?: number | undefined };
    }
  | {
      readonly inputTokens: number | undefined;
      readonly outputTokens: number | undefined;
      readonly cachedInputTokens?: number | undefined;
      readonly reasoningTokens?: number | undefined;
    };

/** The format of V3 and V4, then of V2, which has no `raw`, and uses `unknown` if the stream gave no reason. */
export type PartFinish = { readonly unified: string; readonly raw: string | undefined } | string;

/** V3 and V4 name a feature. V2 names a setting, or the tool itself. */
export interface PartWarning {
  readonly type: string;
  readonly feature?: string;
  readonly setting?: string;
  readonly details?: string;
}

interface OfProvider {
  readonly providerMetadata?: JsonObject;
  /** The provider executes the call itself. */
  readonly providerExecuted?: boolean;
}

/** The parts of a stream that are used. All others only show that the provider is alive. */
export type StreamPart =
  | ({
      readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end';
      readonly id: string;
    } & OfProvider)
  | ({ readonly type: 'text-delta'; readonly id: string; readonly delta: string } & OfProvider)
  | ({ readonly type: 'reasoning-delta'; readonly id: string; readonly delta: string } & OfProvider)
  | ({ readonly type: 'tool-input-start'; readonly id: string; readonly toolName: string } & OfProvider)
  | { readonly type: 'tool-input-delta'; readonly id: string; readonly delta: string }
  | ({ readonly type: 'tool-input-end'; readonly id: string } & OfProvider)
  | ({
      readonly type: 'tool-call';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: string;
    } & OfProvider)
  | { readonly type: 'finish'; readonly finishReason: PartFinish; readonly usage: PartUsage }
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'raw'; readonly rawValue: unknown }
  | { readonly type: 'stream-start'; readonly warnings?: readonly PartWarning[] }
  | { readonly type: 'response-metadata' };

/** The only method that is called, with what the three versions have in common. */
export interface StreamingModel {
  doStream(options: LanguageModelCallOptions): PromiseLike<{ readonly stream: ReadableStream<StreamPart> }>;
}
