import type { RegisterCommand } from '../command.ts';
import type { FeedsOptions } from '../feeds/try-feed.ts';
import { addStoreOption } from '../session/store-options.ts';

const EXAMPLES = `
Loads the feed as a session would before its first turn: metadata has its defaults, and
variables come from --var. Cached values are not used.
Exit codes: 0 loaded, 1 could not be loaded, 2 bad usage or manifest.

Examples:
  $ telltale feeds agent.yml
  $ telltale feeds agent.yml recent_commits
  $ telltale feeds agent.yml system_metrics --watch
  $ telltale feeds agent.yml project_docs --json | jq .tokens
`;

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

export const registerFeeds: RegisterCommand = (program, context) => {
  addStoreOption(program.command('feeds'))
    .summary('try the context feeds of an agent')
    .description(
      'Lists the context feeds of an agent, or loads one and prints what the model would be shown.',
    )
    .argument('<manifest>', "the agent's manifest")
    .argument('[feed]', 'the feed to load; leave it out to list all feeds')
    .option('--var <name=value>', 'a variable that feeds may use (repeatable)', collect, [])
    .option('--model <ref>', "use this model instead of the manifest's: provider/name, or scripted:FILE")
    .option('--watch', 'keep loading the feed and print it whenever it changes')
    .option('--json', 'print JSON')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (manifest: string, feed: string | undefined, options: FeedsOptions) =>
        (await import('../feeds/try-feed.ts')).tryFeed(manifest, feed, options, context),
      ),
    );
};
