import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { orAborted } from '../../tools/abort.ts';
import { isJsonType } from '../../tools/http/http-request.ts';
import type { McpServer } from '../../tools/mcp/mcp-server.ts';
import { noLongerOffered } from '../../tools/mcp/server-targets.ts';
import type { FeedSource, LoadSource, SourceCall } from '../feed.ts';
import { createFileSource } from './file-source.ts';
import { createHttpSource } from './http-source.ts';
import { createInternalSource } from './internal-source.ts';
import { createRepoSource } from './repo/repo-source.ts';
import { badParams, boundValue, mayChange, noParams, notText, type SourceDeps } from './source.ts';
import { createTargetSource } from './target-source.ts';

/** Asks sources of every type. What they give is bounded here, and a source that hangs is left when the signal says so. */
export function createLoadSource(deps: SourceDeps): LoadSource {
  const internal = createInternalSource(deps);
  const target = createTargetSource(deps);
  const file = createFileSource(deps);
  const repo = createRepoSource(deps);
  const http = createHttpSource(deps);
  const mcp = createMcpSource(deps);

  const load = async (call: SourceCall): Promise<Json> => {
    const { feed, params, signal } = call;
    const { source } = feed;
    const what = `feed "${feed.id}"`;
    switch (source.type) {
      case 'internal':
        return internal(source, params);
      case 'tool':
      case 'relic':
      case 'llm':
        return target(source, call);
      case 'workflow':
        if (deps.isModels?.(feed.id) === true) throw mayChange(what, `workflow "${clip(source.name)}"`);
        return deps.runWorkflow(source.name, params, signal, feed.id);
      case 'agent': {
        noParams(`the ${what}`, params, source.action);
        // What others had it do is not the model's to see.
        const onlyCalled = deps.isModels?.(feed.id) === true;
        const metadata = await deps.agentMetadata(source.name, onlyCalled);
        if (metadata === undefined) throw neverRan(source.name, onlyCalled);
        return metadata;
      }
      case 'metadata':
        noParams(`the ${what}`, params);
        return source.name === undefined
          ? deps.state.metadata
          : (own(deps.state.metadata, source.name) ?? null);
      case 'file':
        return file(source, call);
      case 'repo':
        return repo(source, call);
      case 'http':
        return http(source, call);
      case 'mcp':
        return mcp(source, call);
    }
  };

  return async (call) => {
    const what = `feed "${call.feed.id}"`;
    return boundValue(await orAborted(load(call), what, call.signal), what);
  };
}

const own = (values: Readonly<Record<string, Json>>, name: string): Json | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;

const neverRan = (name: string, here: boolean) =>
  new RuntimeError(
    'agent_unknown',
    `The agent "${clip(name)}" has no metadata: it has not run yet${here ? ' in this session' : ''}.`,
    {
      hint: 'The value comes once it has.',
      retryable: true,
    },
  );

export type McpSource = Extract<FeedSource, { readonly type: 'mcp' }>;

/** A resource of an MCP server that the agent imports. */
function createMcpSource({ targets }: SourceDeps) {
  return async (source: McpSource, { feed, params, signal }: SourceCall): Promise<Json> => {
    const what = `feed "${feed.id}"`;
    const { server, uri } = resourceOf(source, params, targets.deps);
    if (server.resources === undefined) throw noLongerOffered(server.name, 'resources');
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
