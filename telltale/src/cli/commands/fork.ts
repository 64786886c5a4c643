import { Option } from 'commander';
import { eventUnknown } from '../../agent/log/read-log.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { wholeNumber } from '../options.ts';
import { readVars } from '../run/run-options.ts';
import { findSession, SEQ_HELP } from '../session/find-session.ts';
import { addStoreOption, storeFlag } from '../session/store-options.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-text.ts';

interface CommandForkOptions {
  readonly store?: string;
  readonly json?: true;
  readonly message?: string;
  readonly model?: string;
  readonly var: readonly string[];
}

const EXAMPLES = `
${SEQ_HELP}

Examples:
  $ telltale fork last 12
  $ telltale fork last 1 --message 'Add a --yaml flag instead' --model openai/gpt-5
  $ telltale resume $(telltale fork last 12 --json | jq -r .session)
`;

export const registerFork: RegisterCommand = (program, context) => {
  addStoreOption(program.command('fork'))
    .summary('start a new session from any event of another')
    .description(
      "Creates a new session that starts with a copy of another session's log, up to and including an event. Resume it to continue from there. You can change the message, the model and variables.",
    )
    .argument('<session>', 'which one')
    .argument('<seq>', 'the last event to copy')
    .option('--message <text>', 'replace the message at that event; at any other event, add a message')
    .option('--model <model>', 'the model to continue with: provider/model or scripted:FILE')
    .addOption(
      new Option(
        '--var <name=value>',
        'set a variable (repeatable); the value is read as JSON if it is valid JSON, else as text',
      )
        .argParser((value: string, before: readonly string[]) => [...before, value])
        .default([], 'none'),
    )
    .option('--json', 'print {"session", "from", "seq"}')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((session: string, seq: string, options: CommandForkOptions) =>
        fork(session, seq, options, context),
      ),
    );
};

async function fork(
  asked: string,
  text: string,
  options: CommandForkOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, program } = context.io;
  const seq = wholeNumber('SEQ', text);
  return withStoredSessions(context, options, async (runtime) => {
    const { stream, head } = await findSession(runtime.store, asked);
    if (seq > head) throw eventUnknown(stream, seq, head);
    const { message, model } = options;
    const session = await runtime.fork(stream, seq, {
      ...(message === undefined ? {} : { message }),
      ...(model === undefined ? {} : { model }),
      ...(options.var.length === 0 ? {} : { vars: readVars(options.var) }),
    });
    await stdout.write(
      options.json === true
        ? jsonText({ session, from: stream, seq }, 2)
        : `${session}\nIt starts with a copy of ${stream} up to event ${seq}.\nResume with: ${program} resume ${session}${storeFlag(options.store)}\n`,
    );
    return EXIT.ok;
  });
}
