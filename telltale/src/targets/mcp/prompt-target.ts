import type { Json, JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { compileCheck } from '../check-parameters.ts';
import { DEFAULT_OUTPUT_BYTES } from '../output/output-limits.ts';
import type { Target } from '../target.ts';
import { mcpTargetName } from './mcp-names.ts';
import { contentResult } from './mcp-result.ts';
import type { McpPrompt, McpServer } from './mcp-server.ts';
import { offersGone } from './offers-gone.ts';

const MAX_DESCRIPTION = 8_000;
const MAX_WORDS = 300;

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, description: 'Which prompt.' },
    arguments: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Its arguments, all of them text.',
    },
  },
  required: ['name'],
  additionalProperties: false,
};

/** A server's prompts, as one thing an action can call: one tool each would fill the model's list with what is rarely used. */
export function promptTarget(server: McpServer): Target {
  const name = mcpTargetName(server.name, 'get_prompt');
  const what = `tool "${name}"`;
  const lines = (server.prompts?.all ?? []).map(promptLine);
  return {
    kind: 'tool',
    name,
    description: clip(
      `Gives a prompt of the MCP server "${server.name}": instructions that its authors wrote for a task. ${lines.join(' ')}`,
      MAX_DESCRIPTION,
    ),
    parameters: PARAMETERS,
    idempotent: true,
    start: 'on_close',
    check: compileCheck(PARAMETERS, what),
    async run({ input, signal }): Promise<Json> {
      const { prompts } = server;
      if (prompts === undefined) throw offersGone(server.name, 'prompts');
      const asked = String(input.name);
      const known = prompts.all.map((prompt) => prompt.name);
      if (!known.includes(asked)) throw promptUnknown(server.name, asked, known);
      const values = (input.arguments ?? {}) as Readonly<Record<string, string>>;
      const { messages } = await prompts.get({ what, signal, prompt: asked, input: values });
      return messagesResult(messages, what);
    },
  };
}

/** `review: Reviews code. Arguments: code (required), style.` */
function promptLine({ name, description, arguments: given }: McpPrompt): string {
  const told = clip(description.replace(/\s+/g, ' ').trim(), MAX_WORDS);
  const names = given.map((one) => `${clip(one.name, 100)}${one.required ? ' (required)' : ''}`);
  return `"${clip(name, 100)}"${told === '' ? '' : `: ${told}`}${names.length === 0 ? '.' : `. Arguments: ${names.join(', ')}.`}`;
}

/** One message of the user is its content; others are told apart by their role. */
function messagesResult(messages: readonly JsonObject[], what: string): Json {
  let left = DEFAULT_OUTPUT_BYTES;
  const read = messages.map(({ role, content }) => {
    const blocks = (Array.isArray(content) ? content : [content ?? {}]) as readonly JsonObject[];
    const result = contentResult(blocks, what, left);
    left -= JSON.stringify(result).length;
    return { role: String(role), content: result };
  });
  const [only] = read;
  return read.length === 1 && only?.role === 'user' ? only.content : read;
}

const promptUnknown = (server: string, asked: string, known: readonly string[]) =>
  new RuntimeError('target_unknown', `The MCP server "${server}" has no prompt "${clip(asked, 200)}".`, {
    hint: suggest(asked, known, 'It has'),
  });
