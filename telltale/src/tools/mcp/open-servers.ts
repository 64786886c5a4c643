import { resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { portOf } from '../../manifest/permission-rules.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { PermittedHosts } from '../access/permitted-hosts.ts';
import { childEnvironment } from '../process/child-environment.ts';
import type { TargetDeps } from '../target-edges.ts';
import type { McpHttpStart, McpServer, McpServers, OpenMcpServer } from './mcp-server.ts';

type Import = AgentManifest['import']['tools'][number];
type ServersEntry = Extract<Import, { readonly mcp: unknown }>['mcp'];

/** Reaches all servers that an agent imports, at once. Where one cannot be, the others are let go of again. */
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
  entry: ServersEntry,
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

/** The client that sends is loaded by those who have such a server. */
async function httpStart(
  { name, headers }: ServersEntry,
  url: string,
  { permissions: { hosts }, resolveHost, atClose, clock }: Omit<TargetDeps, 'servers'>,
): Promise<McpHttpStart> {
  mustBeAllowed(name, url, hosts);
  const { createHttpSender } = await import('../http/http-sender.ts');
  // Without `own`: the manifest alone names the server, and may name an MCP endpoint of Telltale.
  const sender = createHttpSender(url, { hosts, resolveHost });
  atClose(async () => sender.close());
  return { type: 'http', name, url, headers, send: sender.send, clock };
}

/**
 * A server is asked for its tools before any session begins, so there is nobody who could approve of its host then.
 */
function mustBeAllowed(name: string, url: string, hosts: PermittedHosts): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) return; // the sender says why
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
    `The MCP server "${name}" cannot be reached: its host "${host}" needs a person's approval, and it is asked for its tools before anybody can be asked.`,
    {
      hint: 'Name the host under "permissions: { network: { allow } }"; to have single calls approved, give them a Tool with "approval: always".',
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
