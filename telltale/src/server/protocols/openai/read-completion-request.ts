import { isJsonObject, type Json, type JsonObject } from '../../../kernel/json.ts';
import { toRuntimeError } from '../../../kernel/runtime-error.ts';
import { badRequest } from '../../http/http-errors.ts';
import { readList, type SpokenMessage, wholeInput } from '../conversation-input.ts';
import { contentText, kindOf, optionalText, readId } from '../read-fields.ts';
import { aboutParam } from './openai-error.ts';

export interface CompletionRequest {
  /** The agent. */
  readonly model: string;
  readonly input: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly user: string | undefined;
}

/** Reads the body of a request. Parameters that only tune a model are passed over. Throws `bad_request`. */
export function readCompletionRequest(body: JsonObject): CompletionRequest {
  const model = about('model', () => readId(body, 'model'));
  for (const [param, refusal] of REFUSED) {
    const value = body[param];
    const why = value === undefined || value === null ? undefined : refusal(value);
    if (why !== undefined) throw aboutParam(param, badRequest(`"${param}" ${why.found}`, why.hint));
  }
  return {
    model,
    input: about('messages', () => wholeInput(readMessages(body.messages))),
    stream: about('stream', () => flag(body, 'stream')),
    includeUsage: isJsonObject(body.stream_options) && body.stream_options.include_usage === true,
    user: about('user', () => optionalText(body, 'user')),
  };
}

const ROLES: Readonly<Record<string, SpokenMessage['role'] | undefined>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
};

function readMessages(messages: unknown): readonly SpokenMessage[] {
  return readList(messages).map((message, at, { length }) => {
    const where = `messages[${at}]`;
    if (!isJsonObject(message)) throw badRequest(`${where} is ${kindOf(message)}.`, MESSAGE);
    const role = typeof message.role === 'string' ? ROLES[message.role] : undefined;
    if (role === undefined)
      throw badRequest(`${where} has the role ${JSON.stringify(message.role ?? null)}.`, MESSAGE);
    return { role, text: contentText(message.content, where, at === length - 1) };
  });
}

const MESSAGE =
  'A message is {"role": "user", "content": "…"}; roles are system, developer, user, assistant and tool.';

interface Refusal {
  readonly found: string;
  readonly hint: string;
}

const refuse = (found: string, hint: string): Refusal => ({ found, hint });
const unless =
  (isFine: (value: Json) => boolean, found: string, hint: string) =>
  (value: Json): Refusal | undefined =>
    isFine(value) ? undefined : refuse(found, hint);
const isEmpty = (value: Json): boolean => Array.isArray(value) && value.length === 0;

const OWN_TOOLS = 'An agent calls the tools of its manifest: give it those there.';

/** What would change the meaning of an answer, if it were passed over. */
const REFUSED: readonly (readonly [param: string, refusal: (value: Json) => Refusal | undefined])[] = [
  [
    'n',
    unless((value) => value === 1, 'asks for several answers; an agent gives one.', 'Send several requests.'),
  ],
  ['tools', unless(isEmpty, 'cannot be given to an agent.', OWN_TOOLS)],
  ['functions', unless(isEmpty, 'cannot be given to an agent.', OWN_TOOLS)],
  [
    'tool_choice',
    unless((value) => value === 'none' || value === 'auto', 'cannot be chosen for an agent.', OWN_TOOLS),
  ],
  [
    'response_format',
    unless(
      (value) => isJsonObject(value) && value.type === 'text',
      'asks for something else than text.',
      'Declare "output" in the agent\'s manifest: its answers then fit that schema.',
    ),
  ],
  ['stop', unless(isEmpty, 'would cut the answer of an agent.', 'Cut it where you read it.')],
  ['logprobs', unless((value) => value === false, 'cannot be had of an agent.', 'Leave it out.')],
  [
    'modalities',
    unless(
      (value) => Array.isArray(value) && value.every((each) => each === 'text'),
      'asks for something else than text.',
      'Leave it out.',
    ),
  ],
  ['audio', () => refuse('cannot be had of an agent.', 'Leave it out.')],
];

function flag(body: JsonObject, field: string): boolean {
  const value = body[field];
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw badRequest(`"${field}" is ${kindOf(value)}.`, 'Send true or false.');
  return value;
}

/** What is wrong with a field is said with its name. */
function about<Value>(param: string, read: () => Value): Value {
  try {
    return read();
  } catch (thrown) {
    throw aboutParam(param, toRuntimeError(thrown));
  }
}
