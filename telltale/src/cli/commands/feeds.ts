import type { RegisterCommand } from '../command.ts';
import type { FeedsOptions } from '../feeds/try-feed.ts';
import { addStoreOption } from '../session/store-option.ts';

const EXAMPLES = `
A feed is loaded as before the first turn of a session: its metadata has its defaults, and
its variables what --var gives. Values that are cached are not looked at.
Ends with 0 where the feed could be loaded, 1 where not, 2 bad usage or manifest.

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
    .argument('[feed]', 'which feed to load; without it, all are listed')
    .option('--var <name=value>', 'a variable that feeds may name; may be repeated', collect, [])
    .option('--model <ref>', "in place of the manifest's model: provider/name, or scripted:FILE")
    .option('--watch', 'load it again and again, and print it whenever it changes')
    .option('--json', 'print JSON')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (manifest: string, feed: string | undefined, options: FeedsOptions) =>
        (await import('../feeds/try-feed.ts')).tryFeed(manifest, feed, options, context),
      ),
    );
};
