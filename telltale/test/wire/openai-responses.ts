import { checkLimits, checkTools, FUNCTION_NAME } from './openai-chat.ts';
import { type Bag, isBag, Problems } from './problems.ts';

/** https://platform.openai.com/docs/api-reference/responses/create */
const MAX_CALL_ID = 64;
const MAX_BODY = 64 * 1024 * 1024;
/** With what the ids of items begin. */
const ITEM_ID: Readonly<Record<string, RegExp>> = {
  message: /^msg_?[\w-]+$/,
  function_call: /^fc_?[\w-]+$/,
  reasoning: /^rs_?[\w-]+$/,
};

export function checkResponses(body: unknown): readonly string[] {
  const problems = new Problems();
  const request = problems.object(body, 'body');
  problems.filled(request.model, 'model');
  checkInput(request, problems);
  const names = checkTools(request.tools, problems, (tool, path) => {
    if (tool.type !== 'function') problems.add(`${path}.type`, 'must be "function"');
    return [tool, path];
  });
  const choice = request.tool_choice;
  if (choice !== undefined && names.size === 0)
    problems.add('tool_choice', 'is only allowed when tools are given');
  if (
    isBag(choice) &&
    (choice.type !== 'function' || typeof choice.name !== 'string' || !names.has(choice.name))
  )
    problems.add('tool_choice', `names no tool: ${JSON.stringify(choice)}`);
  checkLimits(request, ['max_output_tokens'], problems);
  problems.size(body, MAX_BODY);
  return problems.found;
}

interface Reading {
  readonly problems: Problems;
  /** Whether the provider keeps items: without that, nothing can be referred to. */
  readonly stored: boolean;
  readonly ids: Set<string>;
  readonly calls: Set<string>;
  readonly unanswered: Map<string, string>;
  /** A reasoning item whose next item has not come. */
  reasoning: string | undefined;
}

function checkInput(request: Bag, problems: Problems): void {
  const { input } = request;
  if (typeof input === 'string') {
    problems.filled(input, 'input');
    return;
  }
  const items = problems.list(input, 'input');
  if (items.length === 0) problems.add('input', '[] is too short');
  const reading: Reading = {
    problems,
    stored: request.store !== false,
    ids: new Set(),
    calls: new Set(),
    unanswered: new Map(),
    reasoning: undefined,
  };
  for (const [index, each] of items.entries())
    readItem(problems.object(each, `input[${index}]`), `input[${index}]`, reading);
  for (const [id, path] of reading.unanswered)
    problems.add(path, `no tool output found for function call ${id}`);
  if (reading.reasoning !== undefined)
    problems.add(reading.reasoning, 'of type "reasoning" was provided without its required following item');
  const last = items.at(-1);
  if (isBag(last) && last.role === 'assistant') problems.add('input', 'the last item is the assistant’s');
}

function readItem(item: Bag, path: string, reading: Reading): void {
  const { problems } = reading;
  const type = typeof item.type === 'string' ? item.type : 'message';
  checkId(item, type, path, reading);
  // What follows a reasoning item has to be the model's own: a message, a call, or more reasoning.
  if (
    reading.reasoning !== undefined &&
    !(type === 'function_call' || type === 'reasoning' || item.role === 'assistant')
  )
    problems.add(reading.reasoning, 'of type "reasoning" was provided without its required following item');
  reading.reasoning = undefined;
  switch (type) {
    case 'message':
      message(item, path, reading);
      return;
    case 'function_call': {
      const id = problems.filled(item.call_id, `${path}.call_id`);
      if (id.length > MAX_CALL_ID)
        problems.add(`${path}.call_id`, `string too long: ${id.length}, at most ${MAX_CALL_ID}`);
      problems.unique(id, reading.calls, `${path}.call_id`);
      reading.unanswered.set(id, path);
      problems.matches(problems.text(item.name, `${path}.name`), FUNCTION_NAME, `${path}.name`);
      problems.jsonObject(item.arguments, `${path}.arguments`);
      return;
    }
    case 'function_call_output': {
      const id = problems.text(item.call_id, `${path}.call_id`);
      if (!reading.unanswered.delete(id))
        problems.add(path, `no tool call found for function call output with call_id ${id}`);
      if (!Array.isArray(item.output)) problems.text(item.output, `${path}.output`);
      return;
    }
    case 'reasoning':
      reading.reasoning = path;
      problems.list(item.summary, `${path}.summary`);
      if (!reading.stored && typeof item.encrypted_content !== 'string')
        problems.add(path, 'reasoning without encrypted_content cannot be found when store is false');
      return;
    case 'item_reference':
      if (!reading.stored) problems.add(path, 'item not found: items are not persisted when store is false');
      return;
    default:
      problems.add(`${path}.type`, `unknown item type "${type}"`);
  }
}

function checkId(item: Bag, type: string, path: string, { problems, ids }: Reading): void {
  if (item.id == null) {
    if (type === 'reasoning' && item.encrypted_content == null) problems.add(`${path}.id`, 'is missing');
    return;
  }
  const id = problems.filled(item.id, `${path}.id`);
  if (id.length > MAX_CALL_ID)
    problems.add(`${path}.id`, `string too long: ${id.length}, at most ${MAX_CALL_ID}`);
  const form = ITEM_ID[type];
  if (form !== undefined) problems.matches(id, form, `${path}.id`);
  problems.unique(id, ids, `${path}.id`);
}

function message(item: Bag, path: string, { problems, unanswered }: Reading): void {
  const { role, content } = item;
  if (unanswered.size > 0 && role !== 'assistant')
    for (const [id, at] of unanswered) {
      problems.add(at, `the output of function call ${id} does not follow its call`);
      unanswered.delete(id);
    }
  if (!['system', 'developer', 'user', 'assistant'].includes(String(role))) {
    problems.add(`${path}.role`, `unknown role "${String(role)}"`);
    return;
  }
  if (typeof content === 'string') {
    problems.filled(content, `${path}.content`);
    return;
  }
  const parts = problems.list(content, `${path}.content`);
  if (parts.length === 0) problems.add(`${path}.content`, 'must not be empty');
  const wanted =
    role === 'assistant' ? ['output_text', 'refusal'] : ['input_text', 'input_image', 'input_file'];
  for (const [index, each] of parts.entries()) {
    const at = `${path}.content[${index}]`;
    const { type, text } = problems.object(each, at);
    if (!wanted.includes(String(type)))
      problems.add(`${at}.type`, `invalid value "${String(type)}"; supported are ${wanted.join(', ')}`);
    if (type === 'output_text' || type === 'input_text') problems.filled(text, `${at}.text`);
  }
}
