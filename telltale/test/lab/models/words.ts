/** A native call as it stands on the wire: `input` is the text of its arguments, which need not be good JSON. */
export interface SaidCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'call'; readonly call: SaidCall };

/** What the model says in one turn. `broken`: the connection ends without a last frame. */
export interface Utterance {
  readonly parts: readonly Part[];
  readonly finish: 'stop' | 'length' | 'broken';
}

/** One piece of what stands in a request, in its order. */
export type HeardMessage =
  | { readonly by: 'model'; readonly text: string; readonly calls: readonly SaidCall[] }
  | { readonly by: 'runtime'; readonly text: string }
  | { readonly by: 'tool'; readonly call: string; readonly text: string; readonly failed: boolean };

/** A request of any provider, as far as a model sees it. */
export interface Heard {
  readonly system: string;
  readonly messages: readonly HeardMessage[];
  readonly tools: readonly string[];
  /** The tool that has to be called. */
  readonly forced?: string;
}

export type Refusal = 'context_exceeded' | 'overloaded';

export type ProviderName = 'openai-chat' | 'openai-responses' | 'anthropic' | 'google';
