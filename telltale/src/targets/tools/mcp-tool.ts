import type { Json } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ToolManifest } from '../../manifest/schema/kinds.ts';
import { mcpResult } from '../mcp/mcp-result.ts';
import { usableSchema } from '../mcp/mcp-schema.ts';
import type { McpServer, McpServers, McpTool } from '../mcp/mcp-server.ts';
import type { Implementation, ToolContext } from './implementation.ts';

interface McpImplementation {
  readonly server: string;
  readonly tool: string;
}

/** A tool of one of the agent's MCP servers, under a name and rules of the manifest's own. */
export function mcpTool(
  { server, tool }: McpImplementation,
  { what, maxBytes, wantsJson, stream }: ToolContext,
  { servers }: { readonly servers: McpServers },
): Implementation {
  const found = servers.get(server);
  if (found === undefined) throw serverUnknown(what, server, [...servers.keys()]);
  return async (input, call) => {
    const { signal } = call;
    const onProgress = stream ? (data: Json) => call.progress(data) : undefined;
    const answer = await found.call({ what, tool, input, signal, onProgress });
    return mcpResult(answer, { what, maxBytes, wantsJson });
  };
}

/** A manifest that leaves out its description or its parameters has the server's. */
export function withServersWords(manifest: ToolManifest, servers: McpServers): ToolManifest {
  const { implementation, parameters, description } = manifest;
  const server = 'mcp' in implementation ? servers.get(implementation.mcp.server) : undefined;
  if (server === undefined || !('mcp' in implementation)) return manifest;
  const found = toolOf(server, implementation.mcp.tool, `tool "${manifest.name}"`);
  const isGiven = Object.keys(parameters).some((key) => key !== 'type');
  return {
    ...manifest,
    description: description ?? found.description,
    parameters: isGiven ? parameters : usableSchema(found.inputSchema),
  };
}

function toolOf(server: McpServer, name: string, what: string): McpTool {
  const found = server.tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const known = server.tools.map((tool) => tool.name);
  throw new RuntimeError(
    'target_unknown',
    `The MCP server "${server.name}" has no tool "${name}" for ${what}.`,
    {
      hint: suggest(name, known, 'It has'),
    },
  );
}

const serverUnknown = (what: string, server: string, known: readonly string[]) =>
  new RuntimeError(
    'target_unknown',
    `No MCP server named "${server}" is imported by the agent; ${what} needs it.`,
    {
      hint: suggest(server, known, 'Imported'),
    },
  );
