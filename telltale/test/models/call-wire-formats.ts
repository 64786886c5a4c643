/** How a provider streams text and native calls, frame by frame. `index` counts calls from 0. */
export interface CallWireFormat {
  readonly name: string;
  /** `provider/model`. */
  readonly ref: string;
  /** Environment for a server at `url`. */
  readonly env: (url: string) => Record<string, string>;
  /** OpenAI's own address is asked for responses; a test's `fetch` leads it to the server. */
  readonly isAtHome: boolean;
  readonly start: readonly string[];
  readonly text: (text: string) => readonly string[];
  readonly begin: (index: number, id: string, name: string) => readonly string[];
  readonly delta: (index: number, text: string) => string;
  /** `input` is all of it. Nothing where the format does not say that a call is complete. */
  readonly done: (index: number, id: string, name: string, input: string) => readonly string[];
  readonly end: (finish: 'calls' | 'length') => readonly string[];
}

const event = (name: string, data: object) =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

export const ANTHROPIC_CALLS: CallWireFormat = {
  name: 'Anthropic',
  ref: 'anthropic/claude-sonnet-4-5',
  env: (url) => ({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url }),
  isAtHome: false,
  start: [
    event('message_start', {
      message: {
        id: 'm1',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 10, output_tokens: 1 },
      },
    }),
  ],
  text: (text) => [
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    event('content_block_stop', { index: 0 }),
  ],
  begin: (index, id, name) => [
    event('content_block_start', {
      index: index + 1,
      content_block: { type: 'tool_use', id, name, input: {} },
    }),
  ],
  delta: (index, text) =>
    event('content_block_delta', {
      index: index + 1,
      delta: { type: 'input_json_delta', partial_json: text },
    }),
  done: (index) => [event('content_block_stop', { index: index + 1 })],
  end: (finish) => [
    event('message_delta', {
      delta: { stop_reason: finish === 'calls' ? 'tool_use' : 'max_tokens', stop_sequence: null },
      usage: { output_tokens: 7 },
    }),
    event('message_stop', {}),
  ],
};

const chunk = (delta: object, finish: string | null = null) =>
  data({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });

const CHAT = {
  isAtHome: false,
  start: [chunk({ role: 'assistant', content: null })],
  text: (text: string) => [chunk({ content: text })],
  begin: (index: number, id: string, name: string) => [
    chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
  ],
  delta: (index: number, text: string) => chunk({ tool_calls: [{ index, function: { arguments: text } }] }),
  done: () => [],
  end: (finish: 'calls' | 'length') => [
    chunk({}, finish === 'calls' ? 'tool_calls' : 'length'),
    'data: [DONE]\n\n',
  ],
};

export const OPENAI_CALLS: CallWireFormat = {
  ...CHAT,
  name: "OpenAI's chat completions",
  ref: 'openai/gpt-4o',
  env: (url) => ({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: url }),
};

export const COMPATIBLE_CALLS: CallWireFormat = {
  ...CHAT,
  name: 'an OpenAI-compatible server',
  ref: 'openai-compatible/qwen3',
  env: (url) => ({ OPENAI_COMPATIBLE_BASE_URL: url }),
};

const item = (index: number, id: string, name: string, input: string, status: string) => ({
  output_index: index + 1,
  item: { type: 'function_call', id: `fc_${index}`, call_id: id, name, arguments: input, status },
});

export const RESPONSES_CALLS: CallWireFormat = {
  name: "OpenAI's responses",
  ref: 'openai/gpt-4o',
  env: () => ({ OPENAI_API_KEY: 'k' }),
  isAtHome: true,
  start: [
    event('response.created', {
      response: { id: 'r1', object: 'response', created_at: 1, model: 'gpt-4o', output: [] },
    }),
  ],
  text: (text) => [
    event('response.output_item.added', {
      output_index: 0,
      item: { type: 'message', id: 'msg_1', status: 'in_progress', role: 'assistant', content: [] },
    }),
    event('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta: text }),
    event('response.output_item.done', {
      output_index: 0,
      item: { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content: [] },
    }),
  ],
  begin: (index, id, name) => [event('response.output_item.added', item(index, id, name, '', 'in_progress'))],
  delta: (index, text) =>
    event('response.function_call_arguments.delta', {
      item_id: `fc_${index}`,
      output_index: index + 1,
      delta: text,
    }),
  done: (index, id, name, input) => [
    event('response.function_call_arguments.done', {
      item_id: `fc_${index}`,
      output_index: index + 1,
      arguments: input,
    }),
    event('response.output_item.done', item(index, id, name, input, 'completed')),
  ],
  end: (finish) => [
    event(finish === 'calls' ? 'response.completed' : 'response.incomplete', {
      response: {
        id: 'r1',
        object: 'response',
        created_at: 1,
        model: 'gpt-4o',
        output: [],
        incomplete_details: finish === 'calls' ? null : { reason: 'max_output_tokens' },
        usage: { input_tokens: 10, output_tokens: 7 },
      },
    }),
  ],
};

export const CALL_WIRE_FORMATS = [ANTHROPIC_CALLS, OPENAI_CALLS, COMPATIBLE_CALLS, RESPONSES_CALLS];
