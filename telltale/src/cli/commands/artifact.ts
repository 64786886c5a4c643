import type { Command } from 'commander';
import type { RollbackOptions, ShowOptions } from '../artifact/show-artifact.ts';
import type { TestOptions } from '../artifact/test-artifact.ts';
import type { RegisterCommand } from '../command.ts';
import { addStoreOption } from '../session/store-option.ts';
import { noSubcommand, type WithOptions } from '../subcommand.ts';

const EXAMPLES = `
Artifacts are sandboxed code that takes decisions. They are kept in the store, version by
version; one of a manifest is put there when its agent is first run.

Examples:
  $ telltale artifact test gate.yml may_release --args '[3]' --context '{"balance": 2}'
  $ telltale artifact test gate.js may_release --context @context.json
  $ telltale artifact show release_gate --diff 1..2
  $ telltale artifact rollback release_gate 1
`;

const TEST_EXAMPLES = `
What --context does not say is as at the start of a run: {"agent_id": "test",
"current_state": null, "step_name": null, "balance": null, "success_rate": 1,
"recent_actions": [], "last_result": null, "metadata": {}, "variables": {}}
Ends with 0 where it answered, 1 where the fallback would count, 2 bad usage or manifest.

Examples:
  $ telltale artifact test gate.yml may_release --args '[3]' --context '{"balance": 2}'
  $ telltale artifact test genesis_random_decider decide --args '[0.3]' --seed monday
`;

export const registerArtifact: RegisterCommand = (program, context) => {
  const artifact = addStoreOption(program.command('artifact'))
    .summary('test artifacts; list, show or roll back stored ones')
    .description('Tests artifacts, and looks after those of the store. Without more, lists them.')
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
    .description('Asks an artifact of a file, as a run would. No store is needed.')
    .argument('<file>', 'its manifest, its source (a .js file), or a genesis artifact by its name')
    .argument('[method]', 'which of its methods; the only one if absent')
    .option('--args <json>', 'its arguments: a JSON list, or @FILE')
    .option('--context <json>', 'what it sees as the last argument: a JSON object, or @FILE')
    .option('--name <name>', 'which artifact, where the file holds several')
    .option('--seed <text>', 'of its random numbers: the same gives the same answer')
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
    .description('Lists the artifacts of the store, each in its newest version.')
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
    .description('Shows the source of an artifact, and its versions.')
    .argument('<artifact>', 'its name')
    .option('--version <n>', 'that version, in place of the newest')
    .option('--diff <a..b>', 'what changed between two versions; "--diff 1" is against the newest')
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
    .description('Puts an old version back, as a new one: the others stay.')
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
