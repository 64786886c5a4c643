/** What OpenAI's chat completions consist of, as far as agents have it. */

export interface CompletionUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

export interface Completion {
  readonly id: string;
  readonly object: 'chat.completion';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly [
    {
      readonly index: 0;
      readonly message: { readonly role: 'assistant'; readonly content: string; readonly refusal: null };
      readonly logprobs: null;
      readonly finish_reason: 'stop';
    },
  ];
  readonly usage: CompletionUsage;
}

export interface CompletionChunk {
  readonly id: string;
  readonly object: 'chat.completion.chunk';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: 0;
    /** `reasoning_content`: as servers of open models call what is thought on the way. */
    readonly delta: {
      readonly role?: 'assistant';
      readonly content?: string;
      readonly reasoning_content?: string;
    };
    readonly logprobs: null;
    readonly finish_reason: 'stop' | null;
  }[];
  readonly usage?: CompletionUsage | null;
}

export interface ModelInfo {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: 'telltale';
}
