import type { HeardMessage, Utterance } from '../words.ts';
import {
  call,
  contentText,
  data,
  type Fields,
  fieldsOf,
  grouped,
  listOf,
  pieces,
  textOf,
  type Usage,
  type Wire,
} from './wire.ts';

const REASONS = { stop: 'stop', length: 'length' } as const;

const chunk = (delta: object, finish: string | null = null) =>
  data({
    id: 'chatcmpl-lab',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-4o',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });

function frames({ parts, finish }: Utterance, { input, output }: Usage): readonly string[] {
  const found = [chunk({ role: 'assistant', content: '' })];
  let index = -1;
  for (const part of parts)
    if (part.type === 'text') found.push(...pieces(part.text).map((content) => chunk({ content })));
    else {
      index++;
      const { id, name } = part.call;
      found.push(
        chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
        ...pieces(part.call.input).map((text) =>
          chunk({ tool_calls: [{ index, function: { arguments: text } }] }),
        ),
      );
    }
  if (finish === 'broken') return found;
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  const reason = finish === 'stop' && index >= 0 ? 'tool_calls' : REASONS[finish];
  return [
    ...found,
    chunk({}, reason),
    data({
      id: 'chatcmpl-lab',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'gpt-4o',
      choices: [],
      usage,
    }),
    'data: [DONE]\n\n',
  ];
}

function heard({ role, content, tool_calls: calls, tool_call_id: id }: Fields): HeardMessage {
  if (role === 'tool') return { by: 'tool', call: textOf(id), text: contentText(content), failed: false };
  if (role !== 'assistant') return { by: 'runtime', text: contentText(content) };
  const made = listOf(calls).map((each) => {
    const { name, arguments: input } = fieldsOf(each.function);
    return call(each.id, name, input);
  });
  return { by: 'model', text: contentText(content), calls: made };
}

const isSystem = ({ role }: Fields) => role === 'system' || role === 'developer';

export const OPENAI_CHAT: Wire = {
  name: 'openai-chat',
  hasRawArguments: true,
  read(body) {
    const { messages, tools, tool_choice: choice } = fieldsOf(body);
    const all = listOf(messages);
    const forced = textOf(fieldsOf(fieldsOf(choice).function).name);
    return {
      system: all
        .filter(isSystem)
        .map(({ content }) => contentText(content))
        .join('\n\n'),
      messages: grouped(all.filter((each) => !isSystem(each)).map(heard)),
      tools: listOf(tools).map((tool) => textOf(fieldsOf(tool.function).name)),
      ...(forced === '' ? {} : { forced }),
    };
  },
  frames,
  refusal: (why) =>
    why === 'overloaded'
      ? {
          status: 503,
          body: {
            error: { message: 'The server is overloaded.', type: 'server_error', param: null, code: null },
          },
        }
      : {
          status: 400,
          body: {
            error: {
              message:
                "This model's maximum context length is 32000 tokens. However, your messages resulted in 40000 tokens. Please reduce the length of the messages.",
              type: 'invalid_request_error',
              param: 'messages',
              code: 'context_length_exceeded',
            },
          },
        },
};
