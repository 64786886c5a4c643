import { Option } from 'commander';
import type { RegisterCommand } from '../command.ts';
import type { ServeOptions } from '../serve/serve.ts';
import { addStoreOption, durabilityOption } from '../session/store-options.ts';

const EXAMPLES = `
Serves agents (default: those in this folder) over HTTP, with the console. It resumes
interrupted sessions in the store, runs schedules and receives webhooks. Ctrl-C shuts it
down; running sessions continue at the next start.

Every request needs a token. The printed link contains one that is valid until the daemon
stops. For clients on other machines, create one that lasts:
  $ telltale token create me --role admin

Examples:
  $ telltale serve
  $ telltale serve agents/ --port 8080
  $ telltale serve agent.yml --host 0.0.0.0 --allow-host agents.example.com
`;

export const registerServe: RegisterCommand = (program, context) => {
  addStoreOption(program.command('serve'))
    .summary('run the daemon: HTTP API, console, triggers and schedules')
    .description('Runs the daemon: HTTP API, console, triggers, schedules and webhooks.')
    .argument('[manifests...]', "agents' manifests, or folders of them")
    .option('--port <number>', 'the port to listen on, 0 for a free one (default: 4800)')
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--allow-host <name...>', 'host names that clients may use, besides IP addresses')
    .option('--origin <origin...>', 'other web origins that may call this server')
    .option(
      '--capacity <number>',
      'how many sessions and runs this process works on at once (default: 256 in a fleet, else no limit)',
    )
    .addOption(new Option('--require-token').hideHelp())
    .option('--no-console', 'do not serve the console')
    .option('--json', 'print {"url", "port", "token", "link"} as JSON')
    .addOption(durabilityOption())
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (manifests: readonly string[], options: ServeOptions) =>
        (await import('../serve/serve.ts')).serve(manifests, options, context),
      ),
    );
};
