import { resolve } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { childEnvironment } from '../process/child-environment.ts';
import type { TargetEdges } from '../target-edges.ts';
import type { McpServer, McpServers, OpenMcpServer } from './mcp-server.ts';

type Import = AgentManifest['import']['tools'][number];
type Entry = Extract<Import, { readonly mcp: unknown }>['mcp'];

/** Starts all servers that an agent imports, at once. Where one cannot be, the others are ended again. */
export async function openServers(
  tools: readonly Import[],
  open: OpenMcpServer | undefined,
  edges: Omit<TargetEdges, 'servers'>,
): Promise<McpServers> {
  const entries = tools.flatMap((tool) => (typeof tool === 'object' ? [tool.mcp] : []));
  if (entries.length === 0) return new Map();
  const outcomes = await Promise.allSettled(entries.map((entry) => openEntry(entry, open, edges)));
  const servers = new Map<string, McpServer>();
  let failure: PromiseRejectedResult | undefined;
  for (const outcome of outcomes)
    if (outcome.status === 'fulfilled') servers.set(outcome.value.name, outcome.value);
    else failure ??= outcome;
  if (failure === undefined) return servers;
  await closeServers(servers);
  throw failure.reason;
}

export async function closeServers(servers: McpServers): Promise<void> {
  await Promise.all([...servers.values()].map((server) => server.close()));
}

async function openEntry(
  { name, command, args, env, cwd = '.', url }: Entry,
  open: OpenMcpServer | undefined,
  { folder, env: own, permissions, clock, graceMs }: Omit<TargetEdges, 'servers'>,
): Promise<McpServer> {
  if (command === undefined) throw overHttp(name, url ?? '');
  if (open === undefined) throw noClient(name);
  return open({
    name,
    command,
    args,
    env: childEnvironment(own, permissions.environment, env),
    cwd: resolve(folder, cwd),
    clock,
    graceMs,
  });
}

const overHttp = (name: string, url: string) =>
  new RuntimeError(
    'not_built',
    `The MCP server "${name}" is reached over HTTP (${url}), which cannot be done yet.`,
    {
      hint: 'Name a "command" that speaks MCP over stdio, or leave it out of "import: { tools }".',
    },
  );

const noClient = (name: string) =>
  new RuntimeError(
    'not_built',
    `This runtime was made without an MCP client, and the agent imports the server "${name}".`,
    {
      hint: 'Make it by createRuntime of "telltale", or pass "mcp" to it.',
    },
  );
