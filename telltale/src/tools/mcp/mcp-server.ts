import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { checkWithoutCompiling } from '../../manifest/schema/user-schemas/check-user-schema.ts';
import { isFatal } from '../../manifest/schema/user-schemas/schema-finding.ts';
import { outputTooLarge, plainJson } from '../output/output.ts';

const MAX_SHOWN = 2_000;

export interface McpResultOptions {
  readonly what: string;
  readonly maxBytes: number;
  /** Whether the result must be JSON that matches a schema. */
  readonly wantsJson: boolean;
}

/**
 * Converts an answer to a result: its structured content if there is any, otherwise its text. If it contains more than
 * text, the result is a list of parts. Images, audio and files are base64 while they fit into the size limit, and are
 * left out otherwise.
 */
export function mcpResult(answer: McpAnswer, { what, maxBytes, wantsJson }: McpResultOptions): Json {
  if (answer.isError) throw toolFailed(what, allText(answer.content));
  if (answer.structured !== undefined) return plainJson(answer.structured, what, maxBytes);
  const parts = readParts(answer.content, what, maxBytes);
  return wantsJson ? parseText(parts, what) : joinParts(parts);
}

/** Converts content blocks to a result in the same way. */
export const contentResult = (content: readonly JsonObject[], what: string, maxBytes: number): Json =>
  joinParts(readParts(content, what, maxBytes));

const joinParts = (parts: readonly (string | JsonObject)[]): Json =>
  parts.every((part) => typeof part === 'string') ? parts.join('\n') : parts;

function readParts(
  content: readonly JsonObject[],
  what: string,
  maxBytes: number,
): readonly (string | JsonObject)[] {
  let left = maxBytes;
  const fits = (bytes: number) => {
    if (bytes > left) return false;
    left -= bytes;
    return true;
  };
  return content.map((block) => {
    const part = readBlock(plainJson(block, what, Number.POSITIVE_INFINITY) as JsonObject);
    const { data, ...about } = typeof part === 'string' ? { data: undefined } : part;
    if (!fits(typeof part === 'string' ? Buffer.byteLength(part) : JSON.stringify(about).length))
      throw outputTooLarge(what, maxBytes);
    if (typeof data !== 'string') return part;
    return fits(data.length) ? part : { ...about, omitted: `${data.length} characters of base64` };
  });
}

/** Keeps the meaningful fields of a block. Types of newer protocols are passed through. */
function readBlock(block: JsonObject): string | JsonObject {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? block.text : block;
    case 'image':
    case 'audio':
      return pick(block, ['type', 'mimeType', 'data']);
    case 'resource_link':
      return pick(block, ['type', 'uri', 'name', 'title', 'description', 'mimeType']);
    case 'resource': {
      const resource = (block.resource ?? {}) as JsonObject;
      const about = { type: 'resource', ...pick(resource, ['uri', 'mimeType', 'text']) };
      return typeof resource.blob === 'string' ? { ...about, data: resource.blob } : about;
    }
    default:
      return block;
  }
}

/** The given properties of an object, as far as they exist. */
export const pick = (from: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key] as Json]])));

const allText = (content: readonly JsonObject[]): string =>
  content.flatMap((block) => (block.type === 'text' ? [String(block.text)] : [])).join('\n');

function parseText(parts: readonly (string | JsonObject)[], what: string): Json {
  try {
    return JSON.parse(parts.filter((part) => typeof part === 'string').join('\n')) as Json;
  } catch (cause) {
    throw new RuntimeError('bad_output', `The answer of ${what} is not JSON.`, {
      hint: 'The tool declares "output: { schema }", but its MCP server answers with other text.',
      cause,
    });
  }
}

function toolFailed(what: string, text: string): RuntimeError {
  const said = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return new RuntimeError(
    'tool_failed',
    `The call of ${what} failed${said === '' ? ' without a message.' : `: ${said}`}`,
  );
}

/** How an MCP server is reached. */
export type McpServerStart = McpProcessStart | McpHttpStart;

/** Started as a process that speaks over stdio. */
export interface McpProcessStart {
  readonly type: 'stdio';
  /** The server's name in the manifest. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Its complete environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** The time between SIGTERM and SIGKILL. */
  readonly graceMs: number;
}

/** Reached over streamable HTTP. */
export interface McpHttpStart {
  readonly type: 'http';
  /** The server's name in the manifest. */
  readonly name: string;
  readonly url: string;
  /** Sent with every request. Headers and the URL's path may contain secrets, so neither is shown. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sends requests to `url` only, within the agent's permissions. */
  readonly send: McpSend;
  readonly clock: Clock;
}

export type McpSend = (message: {
  readonly what: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  readonly isBackground?: boolean;
}) => Promise<{
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  discard(): void;
}>;

/** A tool as its server describes it. Nothing in it can be trusted. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Whether the server says that a repeated call changes nothing more. */
  readonly idempotent: boolean;
}

/** A prompt, as its server describes it. */
export interface McpPrompt {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly McpPromptArgument[];
}

export interface McpPromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
}

/** Whatever is asked of a server. */
export interface McpRequest {
  /** For messages: `tool "github_search"`. */
  readonly what: string;
  readonly signal: AbortSignal;
}

export interface McpCall extends McpRequest {
  /** The tool's name on the server. */
  readonly tool: string;
  readonly input: JsonObject;
  readonly onProgress?: ((data: Json) => void) | undefined;
}

/** A tool's answer as received: of limited size, and of any shape. */
export interface McpAnswer {
  readonly isError: boolean;
  readonly structured: JsonObject | undefined;
  readonly content: readonly JsonObject[];
}

export interface McpResourceList {
  readonly resources: readonly JsonObject[];
  readonly templates: readonly JsonObject[];
  /** Whether there are more than requested. */
  readonly isCut: boolean;
}

export interface McpResources {
  list(ask: McpRequest): Promise<McpResourceList>;
  /** Each with `uri` and `text` or `blob`, as the server sent it. */
  read(ask: McpRequest & { readonly uri: string }): Promise<readonly JsonObject[]>;
}

export interface McpPromptAnswer {
  readonly description: string;
  /** Each with `role` and `content`, as the server sent it. */
  readonly messages: readonly JsonObject[];
}

export interface McpPrompts {
  /** The latest list from the server. */
  readonly all: readonly McpPrompt[];
  get(
    ask: McpRequest & { readonly prompt: string; readonly input: Readonly<Record<string, string>> },
  ): Promise<McpPromptAnswer>;
}

/** A running server. If it has exited or lost the session, the next call starts it anew. */
export interface McpServer {
  readonly name: string;
  /** The latest list from the server. The same array as long as nothing has changed. */
  readonly tools: readonly McpTool[];
  /** Present if the server has resources. */
  readonly resources?: McpResources | undefined;
  readonly prompts?: McpPrompts | undefined;
  /** Calls `listener` whenever the tools or prompts change, until the returned function is called. */
  onChange?(listener: () => void): () => void;
  /**
   * Rejects with `mcp_failed` if the server fails, with `tool_gone` if it no longer has the tool, or with the signal's
   * reason.
   */
  call(call: McpCall): Promise<McpAnswer>;
  close(): Promise<void>;
}

/** The servers of one agent, by name. */
export type McpServers = ReadonlyMap<string, McpServer>;

/**
 * Starts a server and asks for its tools. Rejects with `mcp_failed`, or with the error of a command that cannot be
 * started.
 */
export type OpenMcpServer = (start: McpServerStart) => Promise<McpServer>;

/** The longest tool name that every provider accepts. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * The name under which actions call a server's tool: `github_create_issue`. Other characters than letters, digits, `_`
 * and `-` become `_`. A name that is too long ends in a hash of the whole.
 */
export function mcpTargetName(server: string, tool: string): string {
  const name = `${server}_${tool}`.replace(/[^A-Za-z0-9_-]/gu, '_');
  if (name.length <= MAX_LENGTH) return name;
  const hash = createHash('sha256').update(`${server}\n${tool}`).digest('hex').slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

const MAX_SCHEMA_CHARS = 64 * 1024;
/** The limit for all tools of one server together, so that checking them does not block the process. */
const MAX_SERVER_CHARS = 1024 * 1024;

/**
 * Returns a server's schema if it is valid and small enough for a model to read. Otherwise returns one that accepts
 * every object, because the server checks its parameters itself. The declared draft is dropped: most servers declare
 * draft 7 and use nothing that has changed since. The schema is compiled at the first call of its tool, because that
 * takes much longer than this check.
 */
export const usableSchema = (schema: JsonObject): JsonObject => createSchemaFilter()(schema);

/** The same for the tools of one server, which share a limit. */
export function createSchemaFilter(): (schema: JsonObject) => JsonObject {
  let left = MAX_SERVER_CHARS;
  return ({ $schema: _, ...schema }) => {
    const anything = { type: 'object' };
    if (schema.type !== 'object') return anything;
    const size = JSON.stringify(schema).length;
    if (size > MAX_SCHEMA_CHARS || size > left) return anything;
    left -= size;
    return isFatal(checkWithoutCompiling(schema)) ? anything : schema;
  };
}
