import type { Command } from 'commander';
import type { RegisterCommand } from '../command.ts';
import type { FleetOptions } from '../fleet/show-fleet.ts';
import { noSubcommand, type WithOptions } from '../options.ts';
import { addStoreOption } from '../session/store-options.ts';

const EXAMPLES = `
Lists the processes that share a PostgreSQL database: what each one works on and when it
last reported, what waits for a worker and for how long, and what is quarantined because
no worker can continue it.

Examples:
  $ telltale fleet --store postgres://telltale@db.example.com/agents
  $ telltale fleet --watch
  $ telltale fleet --json
  $ telltale fleet retry ses_01k…
`;

export const registerFleet: RegisterCommand = (program, context) => {
  const fleet = addStoreOption(program.command('fleet'))
    .summary('list the workers of a fleet and what waits for them')
    .description('Shows the workers of a fleet, what they work on, and how much is waiting.')
    .option('--watch', 'refresh every two seconds, until Ctrl-C')
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
    .summary('retry a quarantined session or run')
    .description('Lets the workers try a quarantined session or run again.')
    .argument('<stream>', 'the session or run')
    .option('--json', 'print {"stream", "offered"}')
    .action(
      context.run(async (stream: string, _own: unknown, command: WithOptions) =>
        (await import('../fleet/show-fleet.ts')).retryStream(
          stream,
          command.optsWithGlobals<FleetOptions>(),
          context,
        ),
      ),
    );
};
