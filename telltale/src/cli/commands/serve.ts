import { Option } from 'commander';
import type { RegisterCommand } from '../command.ts';
import type { ServeOptions } from '../serve/serve-options.ts';
import { durabilityOption } from '../session/durability-option.ts';
import { addStoreOption } from '../session/store-option.ts';

const EXAMPLES = `
Serves the agents of the manifests (default: those of this folder) over HTTP, with the
console, and works on all that the store holds: what was cut off goes on, schedules are
kept, hooks are taken. Ctrl-C ends it in order: what runs goes on at the next start.

Every request needs a token. The link that is printed contains one, which ends with the
daemon. Clients on other machines need one that lasts:
  $ telltale token create me --role admin

Examples:
  $ telltale serve
  $ telltale serve agents/ --port 8080
  $ telltale serve agent.yml --host 0.0.0.0 --allow-host agents.example.com
`;

export const registerServe: RegisterCommand = (program, context) => {
  addStoreOption(program.command('serve'))
    .summary('run the daemon: HTTP API, console, triggers and schedules')
    .description('The daemon: HTTP, console, triggers, schedules and hooks.')
    .argument('[manifests...]', "agents' manifests, or folders of them")
    .option('--port <number>', 'the port to listen on, 0 for a free one (default: 4800)')
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--allow-host <name...>', 'names that requests may be sent to, beside addresses')
    .option('--origin <origin...>', 'other sites whose pages may call this server')
    .option(
      '--capacity <number>',
      'the most sessions and runs worked on here at once (default: 256 in a fleet, else no limit)',
    )
    .addOption(new Option('--require-token').hideHelp())
    .option('--no-console', 'leave the console out')
    .option('--json', 'print {"url", "port", "token", "link"} as JSON')
    .addOption(durabilityOption())
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (manifests: readonly string[], options: ServeOptions) =>
        (await import('../serve/serve.ts')).serve(manifests, options, context),
      ),
    );
};
