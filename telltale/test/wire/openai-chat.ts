import { checkSchema, OPENAI_SCHEMA } from './check-schema.ts';
import { type Bag, isBag, Pairing, Problems } from './problems.ts';

/** https://platform.openai.com/docs/api-reference/chat/create */
export const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_FUNCTION_DESCRIPTION = 1024;
const MAX_CALL_ID = 40;
const MAX_TOOLS = 128;
const MAX_STRING = 10_485_760;
const MAX_BODY = 64 * 1024 * 1024;

export function checkChat(body: unknown): readonly string[] {
  const problems = new Problems();
  const request = problems.object(body, 'body');
  problems.filled(request.model, 'model');
  checkMessages(problems.list(request.messages, 'messages'), problems);
  const names = checkTools(request.tools, problems, (tool, path) => {
    if (tool.type !== 'function') problems.add(`${path}.type`, 'must be "function"');
    return [problems.object(tool.function, `${path}.function`), `${path}.function`];
  });
  const choice = request.tool_choice;
  if (choice !== undefined && names.size === 0)
    problems.add('tool_choice', 'is only allowed when tools are given');
  if (isBag(choice)) {
    const name = isBag(choice.function) ? choice.function.name : undefined;
    if (choice.type !== 'function' || typeof name !== 'string' || !names.has(name))
      problems.add('tool_choice', `names no tool: ${JSON.stringify(choice)}`);
  } else if (choice !== undefined && !['auto', 'none', 'required'].includes(String(choice)))
    problems.add('tool_choice', `invalid value ${JSON.stringify(choice)}`);
  checkLimits(request, ['max_tokens', 'max_completion_tokens'], problems);
  if (request.stream_options != null && request.stream !== true)
    problems.add('stream_options', 'is only allowed when stream is set');
  problems.size(body, MAX_BODY);
  return problems.found;
}

export function checkLimits(request: Bag, names: readonly string[], problems: Problems): void {
  for (const name of names) {
    const value = request[name];
    if (value != null && (!Number.isInteger(value) || (value as number) < 1))
      problems.add(name, 'must be a whole number above 0');
  }
}

/** `unpack` finds the function's fields in a tool, and says where they are. */
export function checkTools(
  tools: unknown,
  problems: Problems,
  unpack: (tool: Bag, path: string) => readonly [Bag, string],
): ReadonlySet<string> {
  const names = new Set<string>();
  if (tools === undefined) return names;
  const list = problems.list(tools, 'tools');
  if (list.length === 0) problems.add('tools', '[] is too short');
  if (list.length > MAX_TOOLS) problems.add('tools', `array too long: ${list.length}, at most ${MAX_TOOLS}`);
  for (const [index, each] of list.entries()) {
    const [fn, path] = unpack(problems.object(each, `tools[${index}]`), `tools[${index}]`);
    const name = problems.text(fn.name, `${path}.name`);
    problems.matches(name, FUNCTION_NAME, `${path}.name`);
    problems.unique(name, names, `${path}.name`);
    const description =
      fn.description === undefined ? '' : problems.text(fn.description, `${path}.description`);
    if (description.length > MAX_FUNCTION_DESCRIPTION)
      problems.add(
        `${path}.description`,
        `string too long: ${description.length}, at most ${MAX_FUNCTION_DESCRIPTION}`,
      );
    if (fn.parameters !== undefined)
      checkSchema(fn.parameters, OPENAI_SCHEMA, `${path}.parameters`, problems);
  }
  return names;
}

function checkMessages(messages: readonly unknown[], problems: Problems): void {
  if (messages.length === 0) problems.add('messages', '[] is too short');
  const pairing = new Pairing(problems);
  let before = '';
  for (const [index, each] of messages.entries()) {
    const path = `messages[${index}]`;
    const message = problems.object(each, path);
    const role = problems.text(message.role, `${path}.role`);
    if (role !== 'tool') pairing.settled();
    switch (role) {
      case 'system':
      case 'developer':
        if (index > 0 && before !== role) problems.add(path, `a "${role}" message must stand first`);
        content(message.content, `${path}.content`, problems);
        break;
      case 'user':
        content(message.content, `${path}.content`, problems);
        break;
      case 'assistant':
        assistant(message, path, problems, pairing);
        break;
      case 'tool':
        if (before !== 'tool' && !pairing.waiting)
          problems.add(
            path,
            "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
          );
        pairing.result(problems.text(message.tool_call_id, `${path}.tool_call_id`), `${path}.tool_call_id`);
        problems.text(message.content, `${path}.content`);
        break;
      default:
        problems.add(`${path}.role`, `unknown role "${role}"`);
    }
    if (index > 0 && role === before && role !== 'tool' && role !== 'system')
      problems.add(
        path,
        `two messages in a row have the role "${role}", which templates of local models refuse`,
      );
    before = role;
  }
  pairing.settled();
  if (before === 'assistant')
    problems.add('messages', 'the last message is the assistant’s: there is nothing to answer');
}

function content(value: unknown, path: string, problems: Problems): void {
  if (!Array.isArray(value)) {
    if (problems.filled(value, path).length > MAX_STRING) problems.add(path, 'string too long');
    return;
  }
  if (value.length === 0) problems.add(path, 'must not be empty');
  for (const [index, part] of value.entries()) {
    const { type, text } = problems.object(part, `${path}[${index}]`);
    if (type === 'text') problems.filled(text, `${path}[${index}].text`);
  }
}

function assistant(message: Bag, path: string, problems: Problems, pairing: Pairing): void {
  const { tool_calls: calls, content: said } = message;
  const hasCalls = calls !== undefined && calls !== null;
  // An assistant that only calls has no text; what has neither is refused.
  if (!hasCalls) content(said, `${path}.content`, problems);
  else if (said != null && said !== '') content(said, `${path}.content`, problems);
  if (!hasCalls) return;
  const list = problems.list(calls, `${path}.tool_calls`);
  if (list.length === 0) problems.add(`${path}.tool_calls`, '[] is too short');
  for (const [index, each] of list.entries()) {
    const at = `${path}.tool_calls[${index}]`;
    const call = problems.object(each, at);
    if (call.type !== 'function') problems.add(`${at}.type`, 'must be "function"');
    const id = problems.filled(call.id, `${at}.id`);
    if (id.length > MAX_CALL_ID)
      problems.add(`${at}.id`, `string too long: ${id.length}, at most ${MAX_CALL_ID}`);
    pairing.call(id, `${at}.id`);
    const fn = problems.object(call.function, `${at}.function`);
    problems.matches(problems.text(fn.name, `${at}.function.name`), FUNCTION_NAME, `${at}.function.name`);
    problems.jsonObject(fn.arguments, `${at}.function.arguments`);
  }
}
