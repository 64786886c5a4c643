/** How a provider streams a text, frame by frame. */
export interface WireFormat {
  /** `provider/model`. */
  readonly ref: string;
  /** Environment for a server at `url`. */
  readonly env: (url: string) => Record<string, string>;
  readonly start: readonly string[];
  readonly delta: (text: string) => string;
  readonly end: (finish: 'stop' | 'length') => readonly string[];
  /** What a frame says that reports an overloaded server in mid-stream. */
  readonly overloaded: string;
}

const event = (name: string, data: object) =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

const ANTHROPIC: WireFormat = {
  ref: 'anthropic/claude-sonnet-4-5',
  env: (url) => ({ ANTHROPIC_API_KEY: 'sk-test-key', ANTHROPIC_BASE_URL: url }),
  start: [
    event('message_start', {
      message: {
        id: 'm1',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [],
        stop_reason: null,
        usage: {
          input_tokens: 10,
          output_tokens: 1,
          cache_read_input_tokens: 100,
          cache_creation_input_tokens: 5,
        },
      },
    }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  ],
  delta: (text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  end: (finish) => [
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: finish === 'stop' ? 'end_turn' : 'max_tokens', stop_sequence: null },
      usage: { output_tokens: 7 },
    }),
    event('message_stop', {}),
  ],
  overloaded: event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
};

const chunk = (delta: object, finish: string | null) =>
  data({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });

const CHAT = {
  start: [chunk({ role: 'assistant', content: '' }, null)],
  delta: (text: string) => chunk({ content: text }, null),
  end: (finish: 'stop' | 'length') => [
    chunk({}, finish),
    data({
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [],
      usage: {
        prompt_tokens: 115,
        completion_tokens: 7,
        total_tokens: 122,
        prompt_tokens_details: { cached_tokens: 100 },
      },
    }),
    'data: [DONE]\n\n',
  ],
  overloaded: data({ error: { message: 'Overloaded', type: 'overloaded_error', code: null } }),
};

const OPENAI: WireFormat = {
  ...CHAT,
  ref: 'openai/gpt-4o',
  env: (url) => ({ OPENAI_API_KEY: 'sk-test-key', OPENAI_BASE_URL: url }),
};

const COMPATIBLE: WireFormat = {
  ...CHAT,
  ref: 'openai-compatible/qwen3',
  env: (url) => ({ OPENAI_COMPATIBLE_BASE_URL: url, OPENAI_COMPATIBLE_API_KEY: 'sk-test-key' }),
};

const google = (text: string | undefined, finishReason?: string) =>
  data({
    candidates: [
      {
        content: { role: 'model', parts: text === undefined ? [] : [{ text }] },
        index: 0,
        ...(finishReason === undefined ? {} : { finishReason }),
      },
    ],
    usageMetadata: {
      promptTokenCount: 115,
      candidatesTokenCount: 7,
      totalTokenCount: 122,
      cachedContentTokenCount: 100,
    },
  });

const GOOGLE: WireFormat = {
  ref: 'google/gemini-2.5-flash',
  env: (url) => ({ GOOGLE_GENERATIVE_AI_API_KEY: 'sk-test-key', GOOGLE_GENERATIVE_AI_BASE_URL: url }),
  start: [],
  delta: (text) => google(text),
  end: (finish) => [google('', finish === 'stop' ? 'STOP' : 'MAX_TOKENS')],
  overloaded: data({ error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } }),
};

export const WIRE_FORMATS: readonly WireFormat[] = [ANTHROPIC, OPENAI, COMPATIBLE, GOOGLE];
export { ANTHROPIC, GOOGLE, OPENAI };
