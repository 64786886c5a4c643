import type { Command } from 'commander';
import type { RegisterCommand } from '../command.ts';
import type { McpOptions } from '../mcp/serve-mcp.ts';
import { addStoreOption, durabilityOption } from '../session/store-options.ts';

const EXAMPLES = `
Serves the workflows and agents of the manifests (default: agent.yml) to one client over
stdio, or to several with --http. A client is guided through a workflow step by step.
Progress is kept in the store and survives restarts of the client and the server.

Examples:
  $ telltale mcp agent.yml
  $ telltale mcp agents/*.yml --store ./telltale.db
  $ telltale mcp agent.yml --http 4810
  $ TELLTALE_MCP_TOKEN=… telltale mcp agent.yml --http --host 0.0.0.0
  $ telltale mcp rotate-key
`;

const ROTATE = `
Clients' tokens stay valid until the next rotation. After that, clients have to ask for
their step again (resume_session).
`;

export const registerMcp: RegisterCommand = (program, context) => {
  const mcp = addStoreOption(program.command('mcp'))
    .summary('serve workflows and agents to MCP clients')
    .description('Serves workflows, agents and sessions to MCP clients, over stdio or HTTP.')
    .argument('[manifests...]', "agents' manifests")
    .option('--http [port]', 'serve over HTTP (default port: 4810; 0 picks a free one)')
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--token <text>', 'the bearer token that clients must send (default: TELLTALE_MCP_TOKEN)')
    .option('--token-ttl <duration>', 'how long a continueToken is valid (default: 24h)')
    .option('--wait <duration>', 'how long a call waits for steps that Telltale runs itself (default: 20s)')
    .option('--prefix <text>', 'prefix of the tool name of each agent (default: agent_)')
    .option('--accept-changes', 'continue runs even if their manifests have changed')
    .addOption(durabilityOption())
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (manifests: readonly string[], options: McpOptions) =>
        (await import('../mcp/serve-mcp.ts')).serveMcp(manifests, options, context),
      ),
    );
  addStoreOption(mcp.command('rotate-key'))
    .summary('sign continueTokens with a new key')
    .description(
      'Creates a new key to sign continueTokens. The previous key stays valid until the next rotation.',
    )
    .option('--json', 'print {"key", "previous"}')
    .addHelpText('after', ROTATE)
    .action(
      context.run(async (_own: unknown, command: Command) =>
        (await import('../mcp/rotate-key.ts')).rotateKey(command.optsWithGlobals(), context),
      ),
    );
};
