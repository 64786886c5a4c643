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
  /** Whether the result must be JSON of a schema. */
  readonly wantsJson: boolean;
}

/**
 * An answer as a result: its structured content if it has any, else its text. Where there is more than text it is a
 * list of the parts; images, sound and files come as base64 as far as the result's size allows, else without their data.
 */
export function mcpResult(answer: McpAnswer, { what, maxBytes, wantsJson }: McpResultOptions): Json {
  if (answer.isError) throw toolFailed(what, allText(answer.content));
  if (answer.structured !== undefined) return plainJson(answer.structured, what, maxBytes);
  const parts = readParts(answer.content, what, maxBytes);
  return wantsJson ? parseText(parts, what) : together(parts);
}

/** Blocks of content as a result, in the same way. */
export const contentResult = (content: readonly JsonObject[], what: string, maxBytes: number): Json =>
  together(readParts(content, what, maxBytes));

const together = (parts: readonly (string | JsonObject)[]): Json =>
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

/** Of a block's own fields those that say something; what a newer protocol brings comes as it is. */
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

/** Of an object those of its properties that are there. */
export const pick = (from: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key] as Json]])));

const allText = (content: readonly JsonObject[]): string =>
  content.flatMap((block) => (block.type === 'text' ? [String(block.text)] : [])).join('\n');

function parseText(parts: readonly (string | JsonObject)[], what: string): Json {
  try {
    return JSON.parse(parts.filter((part) => typeof part === 'string').join('\n')) as Json;
  } catch (cause) {
    throw new RuntimeError('bad_output', `What ${what} answered is no JSON.`, {
      hint: 'The tool declares "output: { schema }", but its MCP server answers with text of another kind.',
      cause,
    });
  }
}

function toolFailed(what: string, text: string): RuntimeError {
  const said = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return new RuntimeError(
    'tool_failed',
    `The call of ${what} failed${said === '' ? ', without a word.' : `: ${said}`}`,
  );
}

/** How an MCP server is reached. */
export type McpServerStart = McpProcessStart | McpHttpStart;

/** Over stdio. */
export interface McpProcessStart {
  readonly type: 'stdio';
  /** The manifest's name for it. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
}

/** Over streamable HTTP. */
export interface McpHttpStart {
  readonly type: 'http';
  /** The manifest's name for it. */
  readonly name: string;
  readonly url: string;
  /** Of every request. They may be secrets, and so may the path of the address: neither is shown. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sends to `url`, and nowhere else, what the agent's permissions let through. */
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

/** A tool, as its server describes it: nothing in it is to be trusted. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Whether it says that a second call changes nothing more. */
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
export interface McpAsk {
  /** For messages: `tool "github_search"`. */
  readonly what: string;
  readonly signal: AbortSignal;
}

export interface McpCall extends McpAsk {
  /** The server's name for it. */
  readonly tool: string;
  readonly input: JsonObject;
  readonly onProgress?: ((data: Json) => void) | undefined;
}

/** What a tool answered, as it stands in the message: of bounded size, and of any shape. */
export interface McpAnswer {
  readonly isError: boolean;
  readonly structured: JsonObject | undefined;
  readonly content: readonly JsonObject[];
}

export interface McpResourceList {
  readonly resources: readonly JsonObject[];
  readonly templates: readonly JsonObject[];
  /** Whether there are more than were asked for. */
  readonly isCut: boolean;
}

export interface McpResources {
  list(ask: McpAsk): Promise<McpResourceList>;
  /** Each with `uri` and `text` or `blob`, as the server sent it. */
  read(ask: McpAsk & { readonly uri: string }): Promise<readonly JsonObject[]>;
}

export interface McpPromptAnswer {
  readonly description: string;
  /** Each with `role` and `content`, as the server sent it. */
  readonly messages: readonly JsonObject[];
}

export interface McpPrompts {
  /** What the server listed last. */
  readonly all: readonly McpPrompt[];
  get(
    ask: McpAsk & { readonly prompt: string; readonly input: Readonly<Record<string, string>> },
  ): Promise<McpPromptAnswer>;
}

/** A server that runs. One that has ended, or has forgotten us, is begun with anew at the next call. */
export interface McpServer {
  readonly name: string;
  /** What it listed last: the same list as long as nothing has changed. */
  readonly tools: readonly McpTool[];
  /** Where the server has any. */
  readonly resources?: McpResources | undefined;
  readonly prompts?: McpPrompts | undefined;
  /** Calls `listener` whenever tools or prompts are others than before, until the returned function is called. */
  onChange?(listener: () => void): () => void;
  /**
   * Rejects with `mcp_failed` where the server is at fault, with `tool_gone` where it no longer has the tool, or with
   * what the signal was aborted with.
   */
  call(call: McpCall): Promise<McpAnswer>;
  close(): Promise<void>;
}

/** The servers of one agent, by name. */
export type McpServers = ReadonlyMap<string, McpServer>;

/** Starts a server and asks it what it has. Rejects with `mcp_failed`, or as a command that cannot be started. */
export type OpenMcpServer = (start: McpServerStart) => Promise<McpServer>;

/** What every provider takes as the name of a tool. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * The name under which actions call a server's tool: `github_create_issue`. What is no letter, digit, `_` or `-` becomes
 * `_`; a name that is too long ends in a hash of the whole.
 */
export function mcpTargetName(server: string, tool: string): string {
  const name = `${server}_${tool}`.replace(/[^A-Za-z0-9_-]/gu, '_');
  if (name.length <= MAX_LENGTH) return name;
  const hash = createHash('sha256').update(`${server}\n${tool}`).digest('hex').slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

const MAX_SCHEMA_CHARS = 64 * 1024;
/** Of all tools of one server together: looking at them all must not hold up the process. */
const MAX_SERVER_CHARS = 1024 * 1024;

/**
 * A server's schema where it is sound and of a size that a model can read; else one that lets every object pass, since
 * the server checks its parameters itself. The draft it names is dropped: most say draft 7 and use nothing that has
 * changed since. It is compiled at the first call of its tool, which takes much longer than all the rest.
 */
export const usableSchema = (schema: JsonObject): JsonObject => createSchemaIntake()(schema);

/** The same for the tools of one server, which share a limit. */
export function createSchemaIntake(): (schema: JsonObject) => JsonObject {
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
