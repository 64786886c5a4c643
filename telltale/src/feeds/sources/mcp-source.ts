import type { Json, JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { isJsonType } from '../../targets/http/read-body.ts';
import type { McpServer } from '../../targets/mcp/mcp-server.ts';
import { offersGone } from '../../targets/mcp/offers-gone.ts';
import type { FeedSource, SourceCall } from '../feed.ts';
import { badParams, notText } from './feed-errors.ts';
import { noParams } from './no-params.ts';
import type { SourceDeps } from './source-edges.ts';

export type McpSource = Extract<FeedSource, { readonly type: 'mcp' }>;

/** A resource of an MCP server that the agent imports. */
export function createMcpSource({ targets }: SourceDeps) {
  return async (source: McpSource, { feed, params, signal }: SourceCall): Promise<Json> => {
    const what = `feed "${feed.id}"`;
    const { server, uri } = resourceOf(source, params, targets.deps);
    if (server.resources === undefined) throw offersGone(server.name, 'resources');
    const contents = await server.resources.read({ what, signal, uri });
    const [only] = contents;
    if (only !== undefined && contents.length === 1) return contentOf(only, uri);
    return contents.map((content) => ({ uri: content.uri ?? uri, value: contentOf(content, uri) }));
  };
}

/** What is asked of whom; throws where the agent imports no such server, or no resource is named. */
export function resourceOf(
  { name, action }: McpSource,
  params: JsonObject,
  { servers }: Pick<SourceDeps['targets']['deps'], 'servers'>,
): { readonly server: McpServer; readonly uri: string } {
  const server = servers.get(name);
  if (server === undefined) throw serverUnknown(name, [...servers.keys()]);
  const what = `a source of the MCP server "${name}"`;
  noParams(what, params);
  if (action === undefined)
    throw badParams(what, 'it does not say which resource.', 'Give the address of the resource as "action".');
  return { server, uri: action };
}

function contentOf(content: JsonObject, uri: string): Json {
  const { text, mimeType } = content;
  if (typeof text !== 'string') throw notText(`The resource "${clip(uri, 200)}"`);
  if (typeof mimeType !== 'string' || !isJsonType(mimeType)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text; // a server that says JSON and sends something else
  }
}

const serverUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('target_unknown', `The agent imports no MCP server "${clip(name)}".`, {
    hint: suggest(name, known, 'It imports'),
  });
