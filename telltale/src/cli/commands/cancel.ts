import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { cancelUnowned } from '../session/cancel-unowned.ts';
import { findSession } from '../session/find-session.ts';
import { SESSION_HELP } from '../session/session-help.ts';
import { addStoreOption } from '../session/store-option.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-line.ts';
import { hasEnded } from '../view/status.ts';

interface Options {
  readonly store?: string;
  readonly reason?: string;
  readonly json?: true;
}

const EXAMPLES = `
${SESSION_HELP}

Examples:
  $ telltale cancel last
  $ telltale cancel last --reason "the branch is gone"
`;

const DEFAULT_REASON = 'asked to';
const BY = 'user';

export const registerCancel: RegisterCommand = (program, context) => {
  addStoreOption(program.command('cancel'))
    .summary('end a session, whoever runs it')
    .description(
      'Ends a session: what runs is stopped, by the process that works on it. One that nobody runs ends at once.',
    )
    .argument('<session>', 'which one')
    .option('--reason <text>', 'why, for the log')
    .option('--json', 'print {"session", "outcome", "pid"}')
    .addHelpText('after', EXAMPLES)
    .action(context.run((session: string, options: Options) => cancel(session, options, context)));
};

async function cancel(asked: string, options: Options, context: CommandContext): Promise<ExitCode> {
  const { stdout, clock } = context.io;
  const reason = options.reason ?? DEFAULT_REASON;
  return withStoredSessions(context, options, async (runtime) => {
    const { stream, status, owner } = await findSession(runtime.store, asked);
    const tell = async (outcome: string, text: string, pid?: number): Promise<ExitCode> => {
      const json = { session: stream, outcome, pid: pid ?? null };
      await stdout.write(options.json === true ? jsonText(json, 2) : `${text}\n`);
      return EXIT.ok;
    };
    if (hasEnded(status) && owner === undefined)
      return tell('ended_before', `${stream} had ended already (${status}).`);
    if (owner === undefined && (await cancelUnowned(runtime, stream, { reason, by: BY, clock })))
      return tell('cancelled', `Nobody worked on ${stream}: it is cancelled now.`);
    await runtime.cancel(stream, reason, BY);
    const pid = (await runtime.store.info(stream))?.owner?.pid ?? owner?.pid;
    return tell(
      'delivered',
      `Delivered to process ${pid}, which works on ${stream}: it stops what runs and ends it.`,
      pid,
    );
  });
}
