import { ANTHROPIC_SCHEMA, checkSchema } from './check-schema.ts';
import { checkLimits } from './openai-chat.ts';
import { type Bag, isBag, Pairing, Problems } from './problems.ts';

/** https://docs.anthropic.com/en/api/messages */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const CALL_ID = /^[a-zA-Z0-9_-]+$/;
const MAX_BREAKPOINTS = 4;
const MAX_BODY = 32 * 1024 * 1024;

interface Reading {
  readonly problems: Problems;
  readonly pairing: Pairing;
  breakpoints: number;
}

export function checkAnthropic(body: unknown): readonly string[] {
  const problems = new Problems();
  const request = problems.object(body, 'body');
  const reading: Reading = { problems, pairing: new Pairing(problems), breakpoints: 0 };
  problems.filled(request.model, 'model');
  if (request.max_tokens === undefined) problems.add('max_tokens', 'field required');
  checkLimits(request, ['max_tokens'], problems);
  checkThinking(request, problems);
  const names = checkTools(request.tools, reading);
  checkSystem(request.system, reading);
  const hasCalls = checkMessages(problems.list(request.messages, 'messages'), isThinking(request), reading);
  if (hasCalls && names.size === 0)
    problems.add('tools', 'requests which include tool_use or tool_result blocks must define tools');
  checkChoice(request, names, problems);
  if (reading.breakpoints > MAX_BREAKPOINTS)
    problems.add(
      'cache_control',
      `a maximum of ${MAX_BREAKPOINTS} blocks may be provided, found ${reading.breakpoints}`,
    );
  problems.size(body, MAX_BODY);
  return problems.found;
}

const isThinking = ({ thinking }: Bag): boolean => isBag(thinking) && thinking.type === 'enabled';

function checkThinking(request: Bag, problems: Problems): void {
  const { thinking, max_tokens: most } = request;
  if (!isThinking(request) || !isBag(thinking)) return;
  const budget = thinking.budget_tokens;
  if (typeof budget !== 'number' || budget < 1024)
    problems.add('thinking.budget_tokens', 'must be at least 1024');
  else if (typeof most === 'number' && budget >= most)
    problems.add('max_tokens', 'must be greater than thinking.budget_tokens');
}

function checkChoice(
  { tool_choice: choice, ...request }: Bag,
  names: ReadonlySet<string>,
  problems: Problems,
): void {
  if (choice === undefined) return;
  if (names.size === 0) problems.add('tool_choice', 'may only be specified while providing tools');
  const { type, name } = problems.object(choice, 'tool_choice');
  if (!['auto', 'any', 'tool', 'none'].includes(String(type)))
    problems.add('tool_choice.type', `invalid value "${String(type)}"`);
  if (type === 'tool' && (typeof name !== 'string' || !names.has(name)))
    problems.add('tool_choice', `tool "${String(name)}" not found`);
  if (isThinking(request) && (type === 'any' || type === 'tool'))
    problems.add('tool_choice', 'thinking may not be enabled when tool_choice forces tool use');
}

function checkTools(tools: unknown, reading: Reading): ReadonlySet<string> {
  const { problems } = reading;
  const names = new Set<string>();
  if (tools === undefined) return names;
  for (const [index, each] of problems.list(tools, 'tools').entries()) {
    const path = `tools[${index}]`;
    const tool = problems.object(each, path);
    const name = problems.text(tool.name, `${path}.name`);
    problems.matches(name, TOOL_NAME, `${path}.name`);
    problems.unique(name, names, `${path}.name`);
    if (tool.description !== undefined) problems.text(tool.description, `${path}.description`);
    checkSchema(tool.input_schema, ANTHROPIC_SCHEMA, `${path}.input_schema`, problems);
    mark(tool, path, true, reading);
  }
  return names;
}

function mark(block: Bag, path: string, allowed: boolean, reading: Reading): void {
  if (block.cache_control == null) return;
  reading.breakpoints++;
  if (!allowed) reading.problems.add(path, 'cache_control cannot be set here');
}

function checkSystem(system: unknown, reading: Reading): void {
  if (system === undefined) return;
  if (typeof system === 'string') {
    reading.problems.filled(system, 'system');
    return;
  }
  for (const [index, each] of reading.problems.list(system, 'system').entries()) {
    const path = `system[${index}]`;
    const block = reading.problems.object(each, path);
    if (block.type !== 'text') reading.problems.add(`${path}.type`, 'must be "text"');
    reading.problems.filled(block.text, `${path}.text`);
    mark(block, path, true, reading);
  }
}

/** Whether there are calls or results among the messages. */
function checkMessages(messages: readonly unknown[], thinking: boolean, reading: Reading): boolean {
  const { problems, pairing } = reading;
  let hasCalls = false;
  let before = '';
  if (messages.length === 0) problems.add('messages', 'at least one message is required');
  const lastCalling = messages.findLastIndex((each) => isBag(each) && each.role === 'assistant');
  for (const [index, each] of messages.entries()) {
    const path = `messages[${index}]`;
    const { role, content } = problems.object(each, path);
    if (role !== 'user' && role !== 'assistant')
      problems.add(`${path}.role`, `unexpected role "${String(role)}"`);
    if (index === 0 && role !== 'user') problems.add(path, 'the first message must use the user role');
    if (role === before) problems.add(path, `two messages in a row have the role "${String(role)}"`);
    before = String(role);
    const blocks = blocksOf(content, `${path}.content`, problems);
    hasCalls ||= blocks.some(({ type }) => type === 'tool_use' || type === 'tool_result');
    if (role === 'assistant') {
      pairing.settled();
      assistant(blocks, path, reading);
      if (thinking && index === lastCalling) checkThought(blocks, path, problems);
    } else {
      user(blocks, path, reading);
      pairing.settled();
    }
  }
  pairing.settled();
  if (before === 'assistant') problems.add('messages', 'the conversation must end with a user message');
  return hasCalls;
}

function blocksOf(content: unknown, path: string, problems: Problems): readonly Bag[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  const list = problems.list(content, path);
  if (list.length === 0) problems.add(path, 'messages must have non-empty content');
  return list.map((each, index) => problems.object(each, `${path}[${index}]`));
}

function checkText(block: Bag, at: string, reading: Reading): void {
  reading.problems.filled(block.text, `${at}.text`);
  mark(block, at, true, reading);
}

function assistant(blocks: readonly Bag[], path: string, reading: Reading): void {
  const { problems, pairing } = reading;
  let called = false;
  for (const [index, block] of blocks.entries()) {
    const at = `${path}.content[${index}]`;
    switch (block.type) {
      case 'text':
        checkText(block, at, reading);
        break;
      case 'thinking':
        problems.text(block.thinking, `${at}.thinking`);
        problems.filled(block.signature, `${at}.signature`);
        mark(block, at, false, reading);
        break;
      case 'redacted_thinking':
        problems.filled(block.data, `${at}.data`);
        mark(block, at, false, reading);
        break;
      case 'tool_use': {
        const id = problems.text(block.id, `${at}.id`);
        problems.matches(id, CALL_ID, `${at}.id`);
        pairing.call(id, `${at}.id`);
        problems.matches(problems.text(block.name, `${at}.name`), TOOL_NAME, `${at}.name`);
        problems.object(block.input, `${at}.input`);
        mark(block, at, true, reading);
        called = true;
        break;
      }
      default:
        problems.add(`${at}.type`, `unexpected block "${String(block.type)}"`);
    }
  }
  const last = blocks.at(-1);
  if (!called && last?.type === 'text' && typeof last.text === 'string' && last.text !== last.text.trimEnd())
    problems.add(path, 'final assistant content cannot end with trailing whitespace');
  if (last?.type === 'thinking' || last?.type === 'redacted_thinking')
    problems.add(path, 'the final block in an assistant message cannot be thinking');
}

/** While thinking is on, a turn that called must come back with its thoughts. */
function checkThought(blocks: readonly Bag[], path: string, problems: Problems): void {
  const first = blocks[0]?.type;
  if (blocks.some(({ type }) => type === 'tool_use') && first !== 'thinking' && first !== 'redacted_thinking')
    problems.add(
      path,
      'expected thinking or redacted_thinking as the first block, since thinking is enabled',
    );
}

function user(blocks: readonly Bag[], path: string, reading: Reading): void {
  const { problems, pairing } = reading;
  let other = false;
  for (const [index, block] of blocks.entries()) {
    const at = `${path}.content[${index}]`;
    if (block.type === 'tool_result') {
      if (other) problems.add(at, 'tool_result blocks must stand before all other content');
      pairing.result(problems.text(block.tool_use_id, `${at}.tool_use_id`), `${at}.tool_use_id`);
      const { content } = block;
      if (Array.isArray(content))
        for (const [inner, part] of content.entries())
          problems.filled(problems.object(part, at).text, `${at}.content[${inner}].text`);
      else if (content !== undefined) problems.text(content, `${at}.content`);
      mark(block, at, true, reading);
    } else if (block.type === 'text') {
      other = true;
      checkText(block, at, reading);
    } else problems.add(`${at}.type`, `unexpected block "${String(block.type)}"`);
  }
}
