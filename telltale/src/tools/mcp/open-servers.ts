import { resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { portOf } from '../../manifest/permission-rules.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { PermittedHosts } from '../access/permitted-hosts.ts';
import { childEnvironment } from '../process/child-environment.ts';
import type { TargetDeps } from '../target-deps.ts';
import type { McpHttpStart, McpServer, McpServers, OpenMcpServer } from './mcp-server.ts';

type Import = AgentManifest['import']['tools'][number];
type McpEntry = Extract<Import, { readonly mcp: unknown }>['mcp'];

/** Connects to all servers that an agent imports, in parallel. If one fails, the others are closed again. */
export async function openServers(
  tools: readonly Import[],
  open: OpenMcpServer | undefined,
  deps: Omit<TargetDeps, 'servers'>,
): Promise<McpServers> {
  const entries = tools.flatMap((tool) => (typeof tool === 'object' ? [tool.mcp] : []));
  if (entries.length === 0) return new Map();
  const outcomes = await Promise.allSettled(entries.map((entry) => openEntry(entry, open, deps)));
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
  entry: McpEntry,
  open: OpenMcpServer | undefined,
  deps: Omit<TargetDeps, 'servers'>,
): Promise<McpServer> {
  const { name, command, args, env, cwd = '.', url } = entry;
  if (open === undefined) throw noClient(name);
  if (command === undefined) return open(await httpStart(entry, url ?? '', deps));
  const { folder, env: own, permissions, clock, graceMs } = deps;
  return open({
    type: 'stdio',
    name,
    command,
    args,
    env: childEnvironment(own, permissions.environment, env),
    cwd: resolve(folder, cwd),
    clock,
    graceMs,
  });
}

/** The HTTP client is only loaded if a server needs it. */
async function httpStart(
  { name, headers }: McpEntry,
  url: string,
  { permissions: { hosts }, resolveHost, atClose, clock }: Omit<TargetDeps, 'servers'>,
): Promise<McpHttpStart> {
  assertHostAllowed(name, url, hosts);
  const { createHttpSender } = await import('../http/http-sender.ts');
  // Without `own`, because only the manifest names the server, and it may name an MCP endpoint of Telltale.
  const sender = createHttpSender(url, { hosts, resolveHost });
  atClose(async () => sender.close());
  return { type: 'http', name, url, headers, send: sender.send, clock };
}

/** A server is asked for its tools before any session starts, so its host must be allowed without approval. */
function assertHostAllowed(name: string, url: string, hosts: PermittedHosts): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) return; // the sender reports what is wrong with the URL
  let grant: string | undefined;
  try {
    grant = hosts.grantFor(parsed.hostname, portOf(parsed));
  } catch (thrown) {
    if (!(thrown instanceof RuntimeError)) throw thrown;
    const { message, hint } = thrown;
    throw new RuntimeError('not_permitted', `The MCP server "${name}" cannot be reached. ${message}`, {
      hint,
    });
  }
  if (grant !== undefined) throw asksForHost(name, parsed.host);
}

const asksForHost = (name: string, host: string) =>
  new RuntimeError(
    'not_permitted',
    `The MCP server "${name}" cannot be reached: its host "${host}" needs approval, but its tools are listed before anyone can approve.`,
    {
      hint: 'List the host in "permissions: { network: { allow } }". To approve single calls, declare them as a Tool with "approval: always".',
    },
  );

const noClient = (name: string) =>
  new RuntimeError(
    'not_built',
    `This runtime has no MCP client, but the agent imports the server "${name}".`,
    {
      hint: 'Create it with createRuntime of "telltale", or pass "mcp" to it.',
    },
  );
