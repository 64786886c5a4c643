import type { Command } from 'commander';
import type { RegisterCommand } from '../command.ts';
import type { MemoryOptions } from '../memory/open-for-command.ts';
import type { QueryOptions } from '../memory/query-memory.ts';
import { addStoreOption } from '../session/store-option.ts';
import { noSubcommand, type WithOptions } from '../subcommand.ts';

const EXAMPLES = `
The graph of a folder is kept in the store: what its files define, import and call (in
TypeScript, JavaScript, Python, Go, Rust, Java and Markdown), and what sessions learned.
What .gitignore excludes is left out. DIR is the current folder if absent.

Examples:
  $ telltale memory index
  $ telltale memory query "where are retries decided"
  $ telltale memory query --symbol Session.run --depth 2
  $ telltale memory query --path src/session.ts --json
  $ telltale memory stats ../other-project
`;

const QUERY_EXAMPLES = `
With one argument and neither --symbol nor --path, that one is the text. Files that have
changed are read anew first.

Examples:
  $ telltale memory query "where are retries decided"
  $ telltale memory query ./packages/core "rate limit"
  $ telltale memory query --symbol createRuntime
`;

export const registerMemory: RegisterCommand = (program, context) => {
  const memory = addStoreOption(program.command('memory'))
    .summary('build and query the knowledge graph of a folder')
    .description('Builds and asks the knowledge graph of a folder. Without more, says what is in it.')
    .option('--json', 'print JSON')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: MemoryOptions, command: Command) => {
        const [asked] = command.args;
        if (asked !== undefined) throw noSubcommand(asked, command);
        return (await import('../memory/memory-stats.ts')).memoryStats(undefined, options, context);
      }),
    );
  addStoreOption(memory.command('index'))
    .summary('bring the graph up to date')
    .description(
      'Brings the graph up to date: files that are new or have changed are read, those that are gone go.',
    )
    .argument('[dir]', 'the folder', '.')
    .option('--json', 'print what was done as JSON')
    .action(
      context.run(async (folder: string, _own: unknown, command: WithOptions) =>
        (await import('../memory/index-memory.ts')).indexMemory(
          folder,
          command.optsWithGlobals<MemoryOptions>(),
          context,
        ),
      ),
    );
  addStoreOption(memory.command('query'))
    .summary('ask it')
    .description('Finds definitions, who calls and imports them, and what was learned about them.')
    .argument('[dir]', 'the folder; the current one if absent')
    .argument('[text]', 'what to look for')
    .option('--symbol <name>', 'a symbol by its name: run, or Session.run')
    .option('--path <file>', 'what is known of a file')
    .option('--depth <n>', 'steps from what is found, over calls and imports (default: 1)')
    .option('--limit <n>', 'how many to find (default: 10)')
    .option('--max-tokens <n>', 'the size of the answer (default: 2000)')
    .option('--json', 'print nodes and edges as JSON')
    .addHelpText('after', QUERY_EXAMPLES)
    .action(
      context.run(
        async (first: string | undefined, second: string | undefined, _own: unknown, command: WithOptions) =>
          (await import('../memory/query-memory.ts')).queryMemory(
            first,
            second,
            command.optsWithGlobals<QueryOptions>(),
            context,
          ),
      ),
    );
  addStoreOption(memory.command('stats'))
    .summary('say what is in it')
    .description('Says what is in the graph: files, symbols, imports, calls, facts, and when it was built.')
    .argument('[dir]', 'the folder', '.')
    .option('--json', 'print it as JSON')
    .action(
      context.run(async (folder: string, _own: unknown, command: WithOptions) =>
        (await import('../memory/memory-stats.ts')).memoryStats(
          folder,
          command.optsWithGlobals<MemoryOptions>(),
          context,
        ),
      ),
    );
};
