import type { Json, JsonObject } from '../kernel/json.ts';
import type { McpAnswer, McpPrompt, McpPromptAnswer, McpTool } from '../targets/mcp/mcp-server.ts';
import { isTooDeep } from './is-too-deep.ts';

type Result = Readonly<Record<string, unknown>>;

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

/** Undefined where it is no list of `key`. What `read` cannot read is left out. */
export function readPage<T>(
  result: Result,
  key: string,
  read: (item: unknown) => T | undefined,
): Page<T> | undefined {
  const { [key]: items, nextCursor } = result;
  if (!Array.isArray(items)) return undefined;
  return {
    items: items.flatMap((item: unknown) => read(item) ?? []),
    next: typeof nextCursor === 'string' ? nextCursor : undefined,
  };
}

/** Undefined for what is no tool of a name, and for one that can only be run as a task, which this client cannot do. */
export function readTool(tool: unknown): McpTool | undefined {
  if (!isMap(tool) || typeof tool.name !== 'string' || tool.name === '') return undefined;
  if (isMap(tool.execution) && tool.execution.taskSupport === 'required') return undefined;
  const hints = isMap(tool.annotations) ? tool.annotations : {};
  const schema = isMap(tool.inputSchema) && !isTooDeep(tool.inputSchema) ? tool.inputSchema : {};
  return {
    name: tool.name,
    description: textOf(tool.description) || textOf(tool.title),
    inputSchema: schema,
    idempotent: hints.readOnlyHint === true || hints.idempotentHint === true,
  };
}

export function readPrompt(prompt: unknown): McpPrompt | undefined {
  if (!isMap(prompt) || typeof prompt.name !== 'string' || prompt.name === '') return undefined;
  const given: readonly unknown[] = Array.isArray(prompt.arguments) ? prompt.arguments : [];
  return {
    name: prompt.name,
    description: textOf(prompt.description) || textOf(prompt.title),
    arguments: given.flatMap((argument) =>
      isMap(argument) && typeof argument.name === 'string' && argument.name !== ''
        ? [
            {
              name: argument.name,
              description: textOf(argument.description),
              required: argument.required === true,
            },
          ]
        : [],
    ),
  };
}

/** A resource has a `uri`, a template of some a `uriTemplate`. */
export const readNamed =
  (key: 'uri' | 'uriTemplate') =>
  (item: unknown): JsonObject | undefined =>
    isMap(item) && typeof item[key] === 'string' ? item : undefined;

/** Undefined where it is no contents of a resource. */
export function readContents(result: Result): readonly JsonObject[] | undefined {
  const { contents } = result;
  return Array.isArray(contents) && contents.every(isMap) ? contents : undefined;
}

/** Undefined where it is no prompt. */
export function readPromptAnswer(result: Result): McpPromptAnswer | undefined {
  const { messages, description } = result;
  if (!Array.isArray(messages) || !messages.every(isMap)) return undefined;
  return { description: textOf(description), messages };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Undefined where it is no answer of a tool. */
export function readAnswer(result: Result): McpAnswer | undefined {
  const { content = [], structuredContent, isError } = result;
  if (!Array.isArray(content) || !content.every(isMap)) return undefined;
  if (content.length === 0 && structuredContent === undefined && !Object.hasOwn(result, 'content'))
    return undefined;
  return {
    isError: isError === true,
    structured: isMap(structuredContent) ? structuredContent : undefined,
    content,
  };
}

/** JSON-RPC's code for what cannot be read. */
const UNREADABLE = -32_700;

/**
 * An answer that is neither a result nor an error as JSON-RPC has them becomes an error: the SDK would pass it over, and
 * the call would wait for ever.
 */
export function soundMessage(message: object): object {
  if ('method' in message || !('id' in message)) return message;
  const { result, error } = message as { readonly result?: unknown; readonly error?: unknown };
  const isError = isMap(error) && Number.isInteger(error.code) && typeof error.message === 'string';
  if (isMap(result) || isError) return message;
  return { jsonrpc: '2.0', id: message.id, error: { code: UNREADABLE, message: 'It is no answer.' } };
}

/** Whether the server itself said no: other errors of the SDK have no code, or ours. */
export const isRefusal = (thrown: unknown): boolean => {
  const { code } = thrown as { readonly code?: unknown };
  return typeof code === 'number' && code !== UNREADABLE;
};

/** Everything here was parsed from JSON. */
const isMap = (value: unknown): value is JsonObject & Record<string, Json | undefined> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
