import type { RegisterCommand } from '../command.ts';
import { findStream, STREAM_HELP } from '../session/find-session.ts';
import { type LogOptions, printLog } from '../session/print-log.ts';
import { addStoreOption } from '../session/store-options.ts';

const EXAMPLES = `
${STREAM_HELP}

Examples:
  $ telltale logs last
  $ telltale logs last -f                        until it ends, whichever process runs it
  $ telltale logs last --type fault,action       faults and all action events
  $ telltale logs last --json | jq -c 'select(.type == "action.completed") | .output'
`;

export const registerLogs: RegisterCommand = (program, context) => {
  addStoreOption(program.command('logs'))
    .summary('print the events of a session; -f follows it')
    .description('Prints the events of a session or a workflow run, one per line.')
    .argument('<session>', 'which one')
    .option('-f, --follow', 'keep printing new events until it ends')
    .option('--from <n>', 'start at event n')
    .option('--type <types>', 'only these event types or groups of types; separate several with commas')
    .option('--json', 'print events as JSON, one per line')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((session: string, options: LogOptions) =>
        printLog(options, context, (store) => findStream(store, session)),
      ),
    );
};
