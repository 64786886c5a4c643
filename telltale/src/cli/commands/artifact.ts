import type { Command } from 'commander';
import type { RollbackOptions, ShowOptions } from '../artifact/show-artifact.ts';
import type { TestOptions } from '../artifact/test-artifact.ts';
import type { RegisterCommand } from '../command.ts';
import { noSubcommand, type WithOptions } from '../options.ts';
import { addStoreOption } from '../session/store-options.ts';

const EXAMPLES = `
Artifacts are sandboxed, versioned code that makes decisions. An artifact from a manifest is
copied to the store when its agent first runs.

Examples:
  $ telltale artifact test gate.yml may_release --args '[3]' --context '{"balance": 2}'
  $ telltale artifact test gate.js may_release --context @context.json
  $ telltale artifact show release_gate --diff 1..2
  $ telltale artifact rollback release_gate 1
`;

const TEST_EXAMPLES = `
Keys that --context leaves out have the values of a fresh run: {"agent_id": "test",
"current_state": null, "step_name": null, "balance": null, "success_rate": 1,
"recent_actions": [], "last_result": null, "metadata": {}, "variables": {}}
Exit codes: 0 it answered, 1 the fallback would be used, 2 bad usage or manifest.

Examples:
  $ telltale artifact test gate.yml may_release --args '[3]' --context '{"balance": 2}'
  $ telltale artifact test genesis_random_decider decide --args '[0.3]' --seed monday
`;

export const registerArtifact: RegisterCommand = (program, context) => {
  const artifact = addStoreOption(program.command('artifact'))
    .summary('test artifacts; list, show or roll back stored ones')
    .description('Tests artifacts and manages those in the store. Without a subcommand, lists them.')
    .option('--json', 'print JSON')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: ShowOptions, command: Command) => {
        const [asked] = command.args;
        if (asked !== undefined) throw noSubcommand(asked, command);
        return (await import('../artifact/show-artifact.ts')).listArtifacts(options, context);
      }),
    );
  artifact
    .command('test')
    .description('Calls a method of an artifact in a file, as a run would. Needs no store.')
    .argument('<file>', 'a manifest, a .js file, or the name of a genesis artifact')
    .argument('[method]', 'the method; may be left out if there is only one')
    .option('--args <json>', 'the arguments: a JSON list, or @FILE')
    .option('--context <json>', 'the context, its last argument: a JSON object, or @FILE')
    .option('--name <name>', 'which artifact, if the file has several')
    .option('--seed <text>', 'the seed of its random numbers')
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', TEST_EXAMPLES)
    .action(
      context.run(async (file: string, method: string | undefined, _own: unknown, command: WithOptions) =>
        (await import('../artifact/test-artifact.ts')).testFile(
          file,
          method,
          command.optsWithGlobals<TestOptions>(),
          context,
        ),
      ),
    );
  addStoreOption(artifact.command('list'))
    .description('Lists the artifacts in the store with their latest versions.')
    .option('--json', 'print them as JSON')
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../artifact/show-artifact.ts')).listArtifacts(
          command.optsWithGlobals<ShowOptions>(),
          context,
        ),
      ),
    );
  addStoreOption(artifact.command('show'))
    .description('Shows the source and versions of an artifact.')
    .argument('<artifact>', 'its name')
    .option('--version <n>', 'show this version instead of the latest')
    .option('--diff <a..b>', 'show the changes between two versions; "--diff 1" compares with the latest')
    .option('--json', 'print it as JSON')
    .action(
      context.run(async (name: string, _own: unknown, command: WithOptions) =>
        (await import('../artifact/show-artifact.ts')).showArtifact(
          name,
          command.optsWithGlobals<ShowOptions>(),
          context,
        ),
      ),
    );
  addStoreOption(artifact.command('rollback'))
    .description('Restores an old version as a new version. Nothing is deleted.')
    .argument('<artifact>', 'its name')
    .argument('<version>', 'the version to put back')
    .option('--by <name>', 'for whom you do it; your user name is recorded with it')
    .option('--json', 'print the new version as JSON')
    .action(
      context.run(async (name: string, version: string, _own: unknown, command: WithOptions) =>
        (await import('../artifact/show-artifact.ts')).rollbackArtifact(
          name,
          version,
          command.optsWithGlobals<RollbackOptions>(),
          context,
        ),
      ),
    );
};
