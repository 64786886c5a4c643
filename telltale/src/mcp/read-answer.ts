import type { Json, JsonObject } from '../kernel/json.ts';
import type { McpAnswer, McpTool } from '../targets/mcp/mcp-server.ts';

/** One page of `tools/list`. Undefined where it is no list of tools. */
export interface ToolPage {
  readonly tools: readonly McpTool[];
  readonly next: string | undefined;
}

/** What is no tool of a name is left out, and so is one that can only be run as a task, which this client cannot do. */
export function readToolPage(result: Readonly<Record<string, unknown>>): ToolPage | undefined {
  const { tools, nextCursor } = result;
  if (!Array.isArray(tools)) return undefined;
  return {
    tools: tools.flatMap((tool: unknown) => readTool(tool) ?? []),
    next: typeof nextCursor === 'string' ? nextCursor : undefined,
  };
}

function readTool(tool: unknown): McpTool | undefined {
  if (!isMap(tool) || typeof tool.name !== 'string' || tool.name === '') return undefined;
  if (isMap(tool.execution) && tool.execution.taskSupport === 'required') return undefined;
  const hints = isMap(tool.annotations) ? tool.annotations : {};
  const title = typeof tool.title === 'string' ? tool.title : '';
  return {
    name: tool.name,
    description: typeof tool.description === 'string' ? tool.description : title,
    inputSchema: isMap(tool.inputSchema) ? tool.inputSchema : {},
    idempotent: hints.readOnlyHint === true || hints.idempotentHint === true,
  };
}

/** Undefined where it is no answer of a tool. */
export function readAnswer(result: Readonly<Record<string, unknown>>): McpAnswer | undefined {
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
