import type { Command } from 'commander';
import type { RegisterCommand } from '../command.ts';
import type { McpOptions } from '../mcp/serve-mcp.ts';
import { durabilityOption } from '../session/durability-option.ts';
import { addStoreOption } from '../session/store-option.ts';

const EXAMPLES = `
Serves the workflows and agents of the manifests (default: agent.yml) to one client over
standard input and output, until it closes its side; with --http to several. A client is
led through a workflow step by step; progress is kept in the store, and outlives both.

Examples:
  $ telltale mcp agent.yml
  $ telltale mcp agents/*.yml --store ./telltale.db
  $ telltale mcp agent.yml --http 4810
  $ TELLTALE_MCP_TOKEN=… telltale mcp agent.yml --http --host 0.0.0.0
  $ telltale mcp rotate-key
`;

const ROTATE = `
Tokens that clients hold stay good until the next rotation; then they have to ask for
their step again (resume_session).
`;

export const registerMcp: RegisterCommand = (program, context) => {
  const mcp = addStoreOption(program.command('mcp'))
    .summary('serve workflows and agents to MCP clients')
    .description(
      'Serves workflows, agents and sessions to MCP clients, over standard input and output or HTTP.',
    )
    .argument('[manifests...]', "agents' manifests")
    .option('--http [port]', 'serve over HTTP; port 4810 if none is given, 0 for a free one')
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--token <text>', 'what clients must send as a bearer token (default: TELLTALE_MCP_TOKEN)')
    .option('--token-ttl <duration>', 'how long a continueToken counts (default: 24h)')
    .option('--wait <duration>', 'how long a call waits for steps of the runtime itself (default: 20s)')
    .option('--prefix <text>', "what stands before an agent's name in the name of its tool (default: agent_)")
    .option('--accept-changes', 'go on with runs although their manifests have changed')
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
      'Makes a new key that continueTokens are signed with. The one before it counts until the next time.',
    )
    .option('--json', 'print {"key", "previous"}')
    .addHelpText('after', ROTATE)
    .action(
      context.run(async (_own: unknown, command: Command) =>
        (await import('../mcp/rotate-key.ts')).rotateKey(command.optsWithGlobals(), context),
      ),
    );
};
