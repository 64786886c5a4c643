import type { JsonObject } from '../kernel/json.ts';
import type { McpPrompt, McpResourceList, McpTool } from '../targets/mcp/mcp-server.ts';
import { type Listing, listAll, type Request } from './list-all.ts';
import { isRefusal, readNamed, readPrompt, readTool } from './read-answer.ts';

/** What a server has. */
export interface Offers {
  readonly tools: readonly McpTool[];
  /** Undefined where it has none, and so for resources, which are listed when they are asked for. */
  readonly prompts: readonly McpPrompt[] | undefined;
  readonly hasResources: boolean;
}

/** What a server said of itself when it was greeted. */
export interface Capabilities {
  readonly tools?: unknown;
  readonly prompts?: unknown;
  readonly resources?: unknown;
}

export interface OffersDeps {
  readonly request: Request;
  /** Does one of the steps within the time for it. */
  readonly timely: <T>(doing: string, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Makes the error of a list that cannot be used. */
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
    // A server of resources alone has no such method.
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
