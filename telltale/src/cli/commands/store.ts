import type { Command } from 'commander';
import type { RegisterCommand } from '../command.ts';
import { addStoreOption } from '../session/store-option.ts';
import type { CopyOptions } from '../store/copy-command.ts';
import type { ExportCommandOptions } from '../store/export-command.ts';
import type { ImportCommandOptions } from '../store/import-command.ts';
import type { UpkeepOptions } from '../store/open-for-upkeep.ts';
import type { PruneCommandOptions } from '../store/prune-command.ts';
import { noSubcommand, type WithOptions } from '../subcommand.ts';

const EXAMPLES = `
A store is a file of SQLite (sqlite:PATH, or a path alone) or a PostgreSQL (postgres://…).

Examples:
  $ telltale store info
  $ telltale store check
  $ telltale store copy .telltale/telltale.db postgres://db.example/telltale
  $ telltale store prune --older-than 30d --keep 100 --dry-run
  $ telltale store export backup.jsonl
  $ telltale store import backup.jsonl --store restored.db
`;

const COPY_EXAMPLES = `
To move a session: stop what works on it (Ctrl-C), copy, and go on in the other store:

  $ telltale store copy .telltale/telltale.db postgres://db.example/telltale
  $ telltale resume ses_… --store postgres://db.example/telltale

A copy that was broken off, by Ctrl-C or a crash, goes on with the same command.
`;

const PRUNE_EXAMPLES = `
What has ended goes, with all that it called, and only where that has ended, too. What one
of the rules keeps, stays. Without --dry-run nothing is asked.

Examples:
  $ telltale store prune --older-than 30d --dry-run
  $ telltale store prune --keep 100 --agent coder
  $ telltale store prune --older-than 7d --status completed
`;

/** Each --session adds one. */
const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

export const registerStore: RegisterCommand = (program, context) => {
  const store = addStoreOption(program.command('store'))
    .summary('look after a store: info, check, copy, prune, export, import')
    .description('Looks after a store as a whole. Without more, says what is in it.')
    .option('--json', 'print JSON')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: UpkeepOptions, command: Command) => {
        const [asked] = command.args;
        if (asked !== undefined) throw noSubcommand(asked, command);
        return (await import('../store/info-command.ts')).infoCommand(options, context);
      }),
    );
  addStoreOption(store.command('info'))
    .summary('say what is in it')
    .description('Says where the store is, its kind, version and size, what is in it, and who works on it.')
    .option('--json', 'print JSON')
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../store/info-command.ts')).infoCommand(command.optsWithGlobals(), context),
      ),
    );
  addStoreOption(store.command('check'))
    .summary('verify every session and run')
    .description(
      'Reads everything and names what is wrong: gaps, order, events that cannot be read or folded, snapshots, tables. Ends with 1 where something is. Changes nothing.',
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
    .description(
      'Copies sessions, runs, tables and knowledge graphs, then reads both to see that they are the same.',
    )
    .argument('<from>', 'the store to copy: a file, or postgres://…')
    .argument('<to>', 'where to: one that is empty, or not there yet')
    .option('--merge', 'add to what is there; what is the same in both is skipped')
    .option('--running', 'also what is being worked on, as far as it is; another copy brings the rest')
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
    .summary('take out old sessions and runs')
    .description('Takes out sessions and runs that have ended, and gives their space back.')
    .option('--older-than <duration>', 'those that nothing was written to for so long: 30d')
    .option('--keep <n>', 'all but the newest n of each agent or workflow')
    .option('--agent <name>', 'only those of this agent or workflow')
    .option('--status <status>', 'only those that ended so; several with commas')
    .option('--dry-run', 'say what would go, and take nothing out')
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
    .summary('write it as lines of JSON')
    .description('Writes sessions, runs and tables as lines of JSON, to a file or to standard output.')
    .argument('[file]', 'where to; "-" or nothing is standard output')
    .option(
      '--session <id>',
      'only this session or run, with what it called, and no tables; repeatable',
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
    .summary('read what was exported')
    .description(
      'Puts what "store export" wrote into a store. What is there already, the same, is left alone.',
    )
    .argument('<file>', 'what to read; "-" is standard input')
    .option('--dry-run', 'look at everything, and write nothing')
    .option(
      '--trusted',
      'the file is your own backup: also take tokens, artifacts and other rows that grant rights',
    )
    .option('--json', 'print the report as JSON')
    .action(
      context.run(async (file: string, _own: unknown, command: WithOptions) =>
        (await import('../store/import-command.ts')).importCommand(
          file,
          command.optsWithGlobals<ImportCommandOptions>(),
          context,
        ),
      ),
    );
};
