import type { RegisterCommand } from '../command.ts';
import type { WorkerCommandOptions } from '../serve/worker.ts';
import { addStoreOption, durabilityOption } from '../session/store-options.ts';

const EXAMPLES = `
Workers share one PostgreSQL database. Each takes sessions and workflow runs that no other
process works on, and runs schedules. For HTTP requests, start "telltale serve", which also
works on sessions. Start as many workers as you like, all with the same agents. If one
dies, others take over its sessions within seconds. SIGTERM hands them over cleanly.

Examples:
  $ telltale worker --store postgres://telltale@db.example.com/agents
  $ TELLTALE_STORE=postgres://… telltale worker agents/ --capacity 500
  $ telltale fleet --store postgres://…
`;

export const registerWorker: RegisterCommand = (program, context) => {
  addStoreOption(program.command('worker'))
    .summary('run a worker of a fleet that shares one PostgreSQL')
    .description('Runs a worker of a fleet: it works on sessions, workflow runs and schedules, without HTTP.')
    .argument('[manifests...]', "agents' manifests, or folders of them")
    .option('--capacity <number>', 'how many sessions and runs this worker works on at once (default: 256)')
    .option('--json', 'print the fleet and the store as JSON')
    .addOption(durabilityOption())
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (manifests: readonly string[], options: WorkerCommandOptions) =>
        (await import('../serve/worker.ts')).runWorker(manifests, options, context),
      ),
    );
};
