import type { RegisterCommand } from '../command.ts';
import type { WorkOptions } from '../serve/work.ts';
import { durabilityOption } from '../session/durability-option.ts';
import { addStoreOption } from '../session/store-option.ts';

const EXAMPLES = `
Works for the fleet of a PostgreSQL database: takes up sessions and workflow runs that
nobody works on, keeps schedules, and answers no requests (that is "telltale serve", which
works as well). Start as many as there are machines, all with the same agents. One that
dies is noticed within seconds, and what it held goes on elsewhere; SIGTERM hands it over
in order.

Examples:
  $ telltale worker --store postgres://telltale@db.example.com/agents
  $ TELLTALE_STORE=postgres://… telltale worker agents/ --capacity 500
  $ telltale fleet --store postgres://…
`;

export const registerWorker: RegisterCommand = (program, context) => {
  addStoreOption(program.command('worker'))
    .summary('run a worker of a fleet that shares one PostgreSQL')
    .description('A worker of a fleet: sessions, workflow runs and schedules, without HTTP.')
    .argument('[manifests...]', "agents' manifests, or folders of them")
    .option('--capacity <number>', 'sessions and runs that are worked on here at once (default: 256)')
    .option('--json', 'print what it works for as JSON')
    .addOption(durabilityOption())
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (manifests: readonly string[], options: WorkOptions) =>
        (await import('../serve/work.ts')).work(manifests, options, context),
      ),
    );
};
