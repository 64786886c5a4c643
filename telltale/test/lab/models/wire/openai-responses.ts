import type { HeardMessage, Utterance } from '../words.ts';
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

const response = (rest: object) => ({
  response: { id: 'resp_lab', object: 'response', created_at: 1, model: 'gpt-4o', output: [], ...rest },
});

function frames({ parts, finish }: Utterance, { input, output }: Usage): readonly string[] {
  const found = [event('response.created', response({ status: 'in_progress' }))];
  for (const [output_index, part] of parts.entries())
    if (part.type === 'text') {
      const item = { type: 'message', id: `msg_${output_index}`, role: 'assistant', content: [] };
      const place = { item_id: item.id, output_index, content_index: 0 };
      found.push(
        event('response.output_item.added', { output_index, item: { ...item, status: 'in_progress' } }),
        ...pieces(part.text).map((delta) => event('response.output_text.delta', { ...place, delta })),
        event('response.output_item.done', { output_index, item: { ...item, status: 'completed' } }),
      );
    } else {
      const { id, name, input: written } = part.call;
      const item = { type: 'function_call', id: `fc_${id}`, call_id: id, name };
      const place = { item_id: item.id, output_index };
      found.push(
        event('response.output_item.added', {
          output_index,
          item: { ...item, arguments: '', status: 'in_progress' },
        }),
        ...pieces(written).map((delta) =>
          event('response.function_call_arguments.delta', { ...place, delta }),
        ),
      );
      // Of a call that was cut off nothing says that it is complete.
      if (output_index < parts.length - 1 || finish === 'stop')
        found.push(
          event('response.function_call_arguments.done', { ...place, arguments: written }),
          event('response.output_item.done', {
            output_index,
            item: { ...item, arguments: written, status: 'completed' },
          }),
        );
    }
  if (finish === 'broken') return found;
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  return [
    ...found,
    finish === 'stop'
      ? event('response.completed', response({ status: 'completed', incomplete_details: null, usage }))
      : event(
          'response.incomplete',
          response({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, usage }),
        ),
  ];
}

function heard(item: Fields): HeardMessage {
  if (item.type === 'function_call')
    return { by: 'model', text: '', calls: [call(item.call_id, item.name, item.arguments)] };
  if (item.type === 'function_call_output')
    return { by: 'tool', call: textOf(item.call_id), text: contentText(item.output), failed: false };
  return item.role === 'assistant'
    ? { by: 'model', text: contentText(item.content), calls: [] }
    : { by: 'runtime', text: contentText(item.content) };
}

const isSystem = ({ role }: Fields) => role === 'system' || role === 'developer';

export const OPENAI_RESPONSES: Wire = {
  name: 'openai-responses',
  hasRawArguments: true,
  read(body) {
    const { input, instructions, tools, tool_choice: choice } = fieldsOf(body);
    const all = listOf(input);
    const forced = textOf(fieldsOf(choice).name);
    return {
      system: [textOf(instructions), ...all.filter(isSystem).map(({ content }) => contentText(content))].join(
        '\n\n',
      ),
      messages: grouped(all.filter((each) => !isSystem(each) && each.type !== 'reasoning').map(heard)),
      tools: listOf(tools).map(({ name }) => textOf(name)),
      ...(forced === '' ? {} : { forced }),
    };
  },
  frames,
  refusal: (why) =>
    why === 'overloaded'
      ? {
          status: 500,
          body: {
            error: { message: 'The server had an error.', type: 'server_error', param: null, code: null },
          },
        }
      : {
          status: 400,
          body: {
            error: {
              message:
                'Your input exceeds the context window of this model. Please adjust your input and try again.',
              type: 'invalid_request_error',
              param: 'input',
              code: 'context_length_exceeded',
            },
          },
        },
};
