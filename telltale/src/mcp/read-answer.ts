import type { Json, JsonObject } from '../lib/json.ts';
import type {
  McpAnswer,
  McpPrompt,
  McpPromptAnswer,
  McpResourceList,
  McpTool,
} from '../tools/mcp/mcp-server.ts';

/** The same depth as for model output, because later code that walks or writes a value may not handle any depth. */
export const MAX_DEPTH = 500;

/** Whether lists and objects nest deeper than `MAX_DEPTH`. */
export const isTooDeep = (value: Json): boolean => isDeeperThan(value, MAX_DEPTH);

function isDeeperThan(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeperThan(child, levels - 1));
}

type AnswerResult = Readonly<Record<string, unknown>>;

/** One page of a list. */
export interface AnswerPage<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

/** Undefined if the result has no list named `key`. Items that `read` rejects are left out. */
function readPage<T>(
  result: AnswerResult,
  key: string,
  read: (item: unknown) => T | undefined,
): AnswerPage<T> | undefined {
  const { [key]: items, nextCursor } = result;
  if (!Array.isArray(items)) return undefined;
  return {
    items: items.flatMap((item: unknown) => read(item) ?? []),
    next: typeof nextCursor === 'string' ? nextCursor : undefined,
  };
}

/** Undefined for a tool without a name, and for one that only runs as a task, which this client does not support. */
function readTool(tool: unknown): McpTool | undefined {
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

function readPrompt(prompt: unknown): McpPrompt | undefined {
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

/** A resource has a `uri`, a template has a `uriTemplate`. */
const readNamed =
  (key: 'uri' | 'uriTemplate') =>
  (item: unknown): JsonObject | undefined =>
    isMap(item) && typeof item[key] === 'string' ? item : undefined;

/** Undefined if the result is not the content of a resource. */
export function readContents(result: AnswerResult): readonly JsonObject[] | undefined {
  const { contents } = result;
  return Array.isArray(contents) && contents.every(isMap) ? contents : undefined;
}

/** Undefined if the result is not a prompt. */
export function readPromptAnswer(result: AnswerResult): McpPromptAnswer | undefined {
  const { messages, description } = result;
  if (!Array.isArray(messages) || !messages.every(isMap)) return undefined;
  return { description: textOf(description), messages };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Undefined if the result is not an answer of a tool. */
export function readAnswer(result: AnswerResult): McpAnswer | undefined {
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

/** The JSON-RPC code for messages that cannot be parsed. */
const UNREADABLE = -32_700;

/**
 * Turns an answer that is neither a valid result nor a valid error into an error. The SDK would ignore it, and the call
 * would wait forever.
 */
export function soundMessage(message: object): object {
  if ('method' in message || !('id' in message)) return message;
  const { result, error } = message as { readonly result?: unknown; readonly error?: unknown };
  const isError = isMap(error) && Number.isInteger(error.code) && typeof error.message === 'string';
  if (isMap(result) || isError) return message;
  return { jsonrpc: '2.0', id: message.id, error: { code: UNREADABLE, message: 'Invalid response.' } };
}

/** Whether the server itself refused. Other errors of the SDK have no code, or ours. */
export const isRefusal = (thrown: unknown): boolean => {
  const { code } = thrown as { readonly code?: unknown };
  return typeof code === 'number' && code !== UNREADABLE;
};

/** Everything here was parsed from JSON. */
const isMap = (value: unknown): value is JsonObject & Record<string, Json | undefined> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a server offers. */
export interface Offers {
  readonly tools: readonly McpTool[];
  /** Undefined if it has no prompts. Resources are listed on request. */
  readonly prompts: readonly McpPrompt[] | undefined;
  readonly hasResources: boolean;
}

/** What a server declared during initialization. */
export interface Capabilities {
  readonly tools?: unknown;
  readonly prompts?: unknown;
  readonly resources?: unknown;
}

export interface OffersDeps {
  readonly request: Request;
  /** Runs one step within its time limit. */
  readonly timely: <T>(doing: string, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Creates the error of a list that cannot be used. */
  readonly bad: (why: string) => Error;
}

const MAX_RESOURCES = 1_000;

const TOOLS: Listing<McpTool> = {
  method: 'tools/list',
  key: 'tools',
  what: 'tools',
  max: 1_000,
  read: readTool,
};
const PROMPTS: Listing<McpPrompt> = {
  method: 'prompts/list',
  key: 'prompts',
  what: 'prompts',
  max: 1_000,
  read: readPrompt,
};
const RESOURCES: Listing<JsonObject> = {
  method: 'resources/list',
  key: 'resources',
  what: 'resources',
  max: MAX_RESOURCES,
  cut: true,
  read: readNamed('uri'),
};
const TEMPLATES: Listing<JsonObject> = {
  method: 'resources/templates/list',
  key: 'resourceTemplates',
  what: 'templates',
  max: MAX_RESOURCES,
  cut: true,
  read: readNamed('uriTemplate'),
};

export async function listOffers(
  { tools: hasTools, prompts: hasPrompts, resources }: Capabilities,
  { request, timely, bad }: OffersDeps,
): Promise<Offers> {
  const tools = await timely('list its tools', (signal) => {
    const listed = listAll(request, TOOLS, signal, bad);
    // A server with only resources has no such method.
    return hasTools === undefined ? listed.catch(noneWhereRefused) : listed;
  });
  const prompts =
    hasPrompts === undefined
      ? undefined
      : await timely('list its prompts', (signal) => listAll(request, PROMPTS, signal, bad));
  return { tools, prompts, hasResources: resources !== undefined };
}

export async function listResources(
  request: Request,
  signal: AbortSignal,
  bad: (why: string) => Error,
): Promise<McpResourceList> {
  const resources = await listAll(request, RESOURCES, signal, bad);
  // Not every server has templates.
  const templates = await listAll(request, TEMPLATES, signal, bad).catch(noneWhereRefused);
  const isCut = resources.length === MAX_RESOURCES || templates.length === MAX_RESOURCES;
  return { resources, templates, isCut };
}

function noneWhereRefused(thrown: unknown): readonly never[] {
  if (isRefusal(thrown)) return [];
  throw thrown;
}

/** Sends a request to a server and returns its result unchecked. */
export type Request = (
  method: string,
  params: Record<string, unknown>,
  options: { readonly signal: AbortSignal; readonly onprogress?: (data: object) => void },
) => Promise<Readonly<Record<string, unknown>>>;

export interface Listing<T> {
  readonly method: string;
  /** The key of the items on a page. */
  readonly key: string;
  /** For messages: `tools`. */
  readonly what: string;
  readonly max: number;
  /** Whether items beyond `max` are dropped instead of refused. */
  readonly cut?: boolean;
  readonly read: (item: unknown) => T | undefined;
}

const MAX_PAGES = 100;

/** Reads all pages of a list. `bad` creates the error of one that cannot be used. */
async function listAll<T>(
  request: Request,
  { method, key, what, max, cut = false, read }: Listing<T>,
  signal: AbortSignal,
  bad: (why: string) => Error,
): Promise<readonly T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = readPage(
      await request(method, cursor === undefined ? {} : { cursor }, { signal }),
      key,
      read,
    );
    if (page === undefined) throw bad(`its list of ${what} is invalid`);
    all.push(...page.items);
    if (all.length > max && !cut) throw bad(`it lists more than ${max} ${what}`);
    if (page.next === undefined || all.length >= max) return all.slice(0, max);
    cursor = page.next;
  }
  if (cut) return all;
  throw bad(`its list of ${what} has more than ${MAX_PAGES} pages`);
}
