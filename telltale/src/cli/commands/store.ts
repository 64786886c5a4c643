import type { Command } from 'commander';
import type { RegisterCommand } from '../command.ts';
import { noSubcommand, type WithOptions } from '../options.ts';
import { addStoreOption } from '../session/store-options.ts';
import type { CopyOptions } from '../store/copy-command.ts';
import type { ExportCommandOptions, ImportCommandOptions } from '../store/export-command.ts';
import type { UpkeepOptions } from '../store/open-for-upkeep.ts';
import type { PruneCommandOptions } from '../store/prune-command.ts';

const EXAMPLES = `
A store is a SQLite file (sqlite:PATH, or just a path) or a PostgreSQL database (postgres://…).

Examples:
  $ telltale store info
  $ telltale store check
  $ telltale store copy .telltale/telltale.db postgres://db.example/telltale
  $ telltale store prune --older-than 30d --keep 100 --dry-run
  $ telltale store export backup.jsonl
  $ telltale store import backup.jsonl --store restored.db
`;

const COPY_EXAMPLES = `
To move a session, stop its process (Ctrl-C), copy it, and resume it in the other store:

  $ telltale store copy .telltale/telltale.db postgres://db.example/telltale
  $ telltale resume ses_… --store postgres://db.example/telltale

If a copy was interrupted, run the same command again to continue.
`;

const PRUNE_EXAMPLES = `
A session is deleted together with everything it called, and only if all of that has ended.
With both rules, a session is kept if either of them keeps it. There is no confirmation: try
--dry-run first.

Examples:
  $ telltale store prune --older-than 30d --dry-run
  $ telltale store prune --keep 100 --agent coder
  $ telltale store prune --older-than 7d --status completed
`;

/** Collects the values of a repeated option. */
const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

export const registerStore: RegisterCommand = (program, context) => {
  const store = addStoreOption(program.command('store'))
    .summary('look after a store: info, check, copy, prune, export, import')
    .description('Manages a store. Without a subcommand, shows what is in it.')
    .option('--json', 'print JSON')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: UpkeepOptions, command: Command) => {
        const [asked] = command.args;
        if (asked !== undefined) throw noSubcommand(asked, command);
        return (await import('../store/check-command.ts')).infoCommand(options, context);
      }),
    );
  addStoreOption(store.command('info'))
    .summary('show what is in it')
    .description('Shows where the store is, its kind, version, size and content, and which processes use it.')
    .option('--json', 'print JSON')
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../store/check-command.ts')).infoCommand(command.optsWithGlobals(), context),
      ),
    );
  addStoreOption(store.command('check'))
    .summary('verify every session and run')
    .description(
      'Reads the whole store and reports what is wrong: gaps, wrong order, unreadable events, bad snapshots or tables. Exits with 1 if something is. Changes nothing.',
    )
    .option('--json', 'print {"ok", counts, "faults"}')
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../store/check-command.ts')).checkCommand(command.optsWithGlobals(), context),
      ),
    );
  store
    .command('copy')
    .summary('copy it into another')
    .description('Copies sessions, runs, tables and knowledge graphs, then compares both stores.')
    .argument('<from>', 'the store to copy: a file, or postgres://…')
    .argument('<to>', 'the target store: empty or missing')
    .option('--merge', 'add to the target; skip what is the same in both')
    .option('--running', 'also copy running sessions as far as they are; copy again for the rest')
    .option('--verbose', 'print a line with the hash of each session and run')
    .option('--json', 'print the report as JSON, with the hash of each session and run')
    .addHelpText('after', COPY_EXAMPLES)
    .action(
      context.run(async (from: string, to: string, _own: unknown, command: WithOptions) =>
        (await import('../store/copy-command.ts')).copyCommand(
          from,
          to,
          command.optsWithGlobals<CopyOptions>(),
          context,
        ),
      ),
    );
  addStoreOption(store.command('prune'))
    .summary('delete old sessions and runs')
    .description('Deletes sessions and runs that have ended, and frees their space.')
    .option('--older-than <duration>', 'only those without new events for this long: 30d')
    .option('--keep <n>', 'keep the newest n of each agent or workflow')
    .option('--agent <name>', 'only those of this agent or workflow')
    .option('--status <status>', 'only those that ended with this status; separate several with commas')
    .option('--dry-run', 'show what would be deleted; delete nothing')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', PRUNE_EXAMPLES)
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../store/prune-command.ts')).pruneCommand(
          command.optsWithGlobals<PruneCommandOptions>(),
          context,
        ),
      ),
    );
  addStoreOption(store.command('export'))
    .summary('export it as JSON lines')
    .description('Writes sessions, runs and tables as JSON lines, to a file or standard output.')
    .argument('[file]', 'the file (default: standard output)')
    .option(
      '--session <id>',
      'only this session or run and what it called, without tables (repeatable)',
      collect,
    )
    .option('--no-snapshots', 'leave out snapshots, which only save time')
    .option('--force', 'overwrite the file')
    .action(
      context.run(async (file: string | undefined, _own: unknown, command: WithOptions) =>
        (await import('../store/export-command.ts')).exportCommand(
          file,
          command.optsWithGlobals<ExportCommandOptions>(),
          context,
        ),
      ),
    );
  addStoreOption(store.command('import'))
    .summary('import an export')
    .description('Imports a file that "store export" wrote. Skips what the store already has.')
    .argument('<file>', 'the file; "-" reads standard input')
    .option('--dry-run', 'check the file and write nothing')
    .option(
      '--trusted',
      'the file is your own backup: also import tokens, artifacts and other rows that grant rights',
    )
    .option('--json', 'print the report as JSON')
    .action(
      context.run(async (file: string, _own: unknown, command: WithOptions) =>
        (await import('../store/export-command.ts')).importCommand(
          file,
          command.optsWithGlobals<ImportCommandOptions>(),
          context,
        ),
      ),
    );
};
