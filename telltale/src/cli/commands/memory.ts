import type { Command } from 'commander';
import type { RegisterCommand } from '../command.ts';
import type { MemoryOptions } from '../memory/open-for-command.ts';
import type { QueryOptions } from '../memory/query-memory.ts';
import { noSubcommand, type WithOptions } from '../options.ts';
import { addStoreOption } from '../session/store-options.ts';

const EXAMPLES = `
The graph is kept in the store: what the files define, import and call (TypeScript,
JavaScript, Python, Go, Rust, Java and Markdown), and what sessions learned. Files that
.gitignore excludes are left out. DIR defaults to the current folder.

Examples:
  $ telltale memory index
  $ telltale memory query "where are retries decided"
  $ telltale memory query --symbol Session.run --depth 2
  $ telltale memory query --path src/session.ts --json
  $ telltale memory stats ../other-project
`;

const QUERY_EXAMPLES = `
A single argument without --symbol and --path is the text. Changed files are read again
first.

Examples:
  $ telltale memory query "where are retries decided"
  $ telltale memory query ./packages/core "rate limit"
  $ telltale memory query --symbol createRuntime
`;

export const registerMemory: RegisterCommand = (program, context) => {
  const memory = addStoreOption(program.command('memory'))
    .summary('build and query the knowledge graph of a folder')
    .description(
      'Builds and queries the knowledge graph of a folder. Without a subcommand, shows what is in it.',
    )
    .option('--json', 'print JSON')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: MemoryOptions, command: Command) => {
        const [asked] = command.args;
        if (asked !== undefined) throw noSubcommand(asked, command);
        return (await import('../memory/index-memory.ts')).memoryStats(undefined, options, context);
      }),
    );
  addStoreOption(memory.command('index'))
    .summary('bring the graph up to date')
    .description('Updates the graph: reads new and changed files and removes deleted ones.')
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
    .description('Finds definitions, their callers and importers, and what sessions learned about them.')
    .argument('[dir]', 'the folder (default: the current one)')
    .argument('[text]', 'what to look for')
    .option('--symbol <name>', 'a symbol by its name: run, or Session.run')
    .option('--path <file>', 'what is known about a file')
    .option('--depth <n>', 'how many calls and imports to follow from each result (default: 1)')
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
    .summary('show what is in it')
    .description('Shows what is in the graph: files, symbols, imports, calls, facts, and when it was built.')
    .argument('[dir]', 'the folder', '.')
    .option('--json', 'print it as JSON')
    .action(
      context.run(async (folder: string, _own: unknown, command: WithOptions) =>
        (await import('../memory/index-memory.ts')).memoryStats(
          folder,
          command.optsWithGlobals<MemoryOptions>(),
          context,
        ),
      ),
    );
};
