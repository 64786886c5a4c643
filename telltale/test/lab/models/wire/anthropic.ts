import type { HeardMessage, SaidCall, Utterance } from '../words.ts';
import {
  call,
  contentText,
  event,
  type Fields,
  fieldsOf,
  grouped,
  listOf,
  pieces,
  textOf,
  type Usage,
  type Wire,
} from './wire.ts';

function frames({ parts, finish }: Utterance, { input, output }: Usage): readonly string[] {
  const message = {
    id: 'msg_lab',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: input, output_tokens: 1 },
  };
  const found = [event('message_start', { message })];
  for (const [index, part] of parts.entries()) {
    const [block, deltas] =
      part.type === 'text'
        ? ([
            { type: 'text', text: '' },
            pieces(part.text).map((text) => ({ type: 'text_delta', text })),
          ] as const)
        : ([
            { type: 'tool_use', id: part.call.id, name: part.call.name, input: {} },
            pieces(part.call.input).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
          ] as const);
    found.push(
      event('content_block_start', { index, content_block: block }),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      ...(finish === 'broken' && index === parts.length - 1 ? [] : [event('content_block_stop', { index })]),
    );
  }
  if (finish === 'broken') return found;
  const isCalling = parts.some(({ type }) => type === 'call');
  const stop_reason = finish === 'length' ? 'max_tokens' : isCalling ? 'tool_use' : 'end_turn';
  return [
    ...found,
    event('message_delta', {
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: output },
    }),
    event('message_stop', {}),
  ];
}

/** One message of the wire may hold answers and then text. */
function heard({ role, content }: Fields): readonly HeardMessage[] {
  if (typeof content === 'string') return [said(textOf(role), content, [])];
  return listOf(content).map((block) => {
    if (block.type === 'tool_result') {
      const { tool_use_id: id, content: result, is_error: failed } = block;
      return { by: 'tool', call: textOf(id), text: contentText(result), failed: failed === true } as const;
    }
    return block.type === 'tool_use'
      ? said('assistant', '', [call(block.id, block.name, block.input)])
      : said(textOf(role), textOf(block.text), []);
  });
}

const said = (role: string, text: string, calls: readonly SaidCall[]): HeardMessage =>
  role === 'assistant' ? { by: 'model', text, calls } : { by: 'runtime', text };

export const ANTHROPIC: Wire = {
  name: 'anthropic',
  hasRawArguments: true,
  read(body) {
    const { system, messages, tools, tool_choice: choice } = fieldsOf(body);
    const forced = textOf(fieldsOf(choice).name);
    return {
      system: contentText(system),
      messages: grouped(listOf(messages).flatMap(heard)),
      tools: listOf(tools).map(({ name }) => textOf(name)),
      ...(forced === '' ? {} : { forced }),
    };
  },
  frames,
  refusal: (why) =>
    why === 'overloaded'
      ? {
          status: 529,
          body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
        }
      : {
          status: 400,
          body: {
            type: 'error',
            error: {
              type: 'invalid_request_error',
              message: 'prompt is too long: 40000 tokens > 32000 maximum',
            },
          },
        },
};
