import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';

/** What every provider of the AI SDK makes. */
export type LanguageModel = LanguageModelV2 | LanguageModelV3 | LanguageModelV4;

type ProviderOptions = Readonly<Record<string, Readonly<Record<string, string | boolean | object>>>>;

interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

/** A message as all versions of the interface take it. */
export type PromptMessage =
  | { readonly role: 'system'; readonly content: string; readonly providerOptions?: ProviderOptions }
  | {
      readonly role: 'user' | 'assistant';
      readonly content: readonly TextPart[];
      readonly providerOptions?: ProviderOptions;
    };

export interface CallOptions {
  readonly prompt: readonly PromptMessage[];
  readonly abortSignal: AbortSignal;
  readonly maxOutputTokens?: number;
  readonly providerOptions?: ProviderOptions;
}

/** Usage of V3 and V4, then of V2. */
export type PartUsage =
  | {
      readonly inputTokens: {
        readonly total: number | undefined;
        readonly cacheRead: number | undefined;
        readonly cacheWrite: number | undefined;
      };
      readonly outputTokens: { readonly total: number | undefined };
    }
  | {
      readonly inputTokens: number | undefined;
      readonly outputTokens: number | undefined;
      readonly cachedInputTokens?: number | undefined;
    };

/** V3's and V4's, then V2's, which knows no `raw` and says `unknown` where the stream did not say. */
export type PartFinish = { readonly unified: string; readonly raw: string | undefined } | string;

/** The parts of a stream that are read; all others only show that the provider is alive. */
export type StreamPart =
  | { readonly type: 'text-delta'; readonly delta: string }
  | { readonly type: 'reasoning-delta'; readonly delta: string }
  | { readonly type: 'finish'; readonly finishReason: PartFinish; readonly usage: PartUsage }
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'stream-start' }
  | { readonly type: 'response-metadata' };

/** The one method that is called, in what the three versions have in common. */
export interface StreamingModel {
  doStream(options: CallOptions): PromiseLike<{ readonly stream: ReadableStream<StreamPart> }>;
}

export type { ProviderOptions };
