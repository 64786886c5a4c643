import type { Command } from 'commander';
import type { RegisterCommand } from '../command.ts';
import type { FleetOptions } from '../fleet/show-fleet.ts';
import { addStoreOption } from '../session/store-option.ts';
import { noSubcommand, type WithOptions } from '../subcommand.ts';

const EXAMPLES = `
The processes that share a PostgreSQL database: what each is, how much it works on, when it
was last heard of; what waits for a worker, and for how long; and what is quarantined since
no worker can go on with it.

Examples:
  $ telltale fleet --store postgres://telltale@db.example.com/agents
  $ telltale fleet --watch
  $ telltale fleet --json
  $ telltale fleet retry ses_01k…
`;

export const registerFleet: RegisterCommand = (program, context) => {
  const fleet = addStoreOption(program.command('fleet'))
    .summary('list the workers of a fleet and what waits for them')
    .description('Shows the workers of a fleet, what they hold, the depth of the queue and its lag.')
    .option('--watch', 'show it anew every two seconds, until Ctrl-C')
    .option('--json', 'print JSON')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: FleetOptions, command: Command) => {
        const [asked] = command.args;
        if (asked !== undefined) throw noSubcommand(asked, command);
        return (await import('../fleet/show-fleet.ts')).showFleet(options, context);
      }),
    );
  addStoreOption(fleet.command('retry'))
    .summary('have what is quarantined tried again')
    .description('Offers a session or run to the workers again that none of them could go on with.')
    .argument('<stream>', 'the session or run')
    .option('--json', 'print {"stream", "offered"}')
    .action(
      context.run(async (stream: string, _own: unknown, command: WithOptions) =>
        (await import('../fleet/retry-stream.ts')).retryStream(
          stream,
          command.optsWithGlobals<FleetOptions>(),
          context,
        ),
      ),
    );
};
