import { RUN_CANCEL } from '../../session/runs/run-messages.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { cancelUnowned } from '../session/cancel-unowned.ts';
import { cancelUnownedRun } from '../session/cancel-unowned-run.ts';
import { findStream } from '../session/find-session.ts';
import { STREAM_HELP } from '../session/session-help.ts';
import { addStoreOption } from '../session/store-option.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-line.ts';
import { hasEnded } from '../view/status.ts';

export interface CancelOptions {
  readonly store?: string;
  readonly reason?: string;
  readonly json?: true;
}

const EXAMPLES = `
${STREAM_HELP}

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
      'Ends a session or a workflow run: what runs is stopped, by the process that works on it. One that nobody runs ends at once.',
    )
    .argument('<session>', 'which one')
    .option('--reason <text>', 'why, for the log')
    .option('--json', 'print {"session", "outcome", "pid"}')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((session: string, options: CancelOptions) =>
        cancelStream(options, context, (store) => findStream(store, session)),
      ),
    );
};

/** Ends the session or run that `find` finds. */
export async function cancelStream(
  options: CancelOptions,
  context: CommandContext,
  find: (store: Store) => Promise<StreamInfo>,
): Promise<ExitCode> {
  const { stdout, clock } = context.io;
  const reason = options.reason ?? DEFAULT_REASON;
  return withStoredSessions(context, options, async (runtime) => {
    const { stream, status, owner, kind } = await find(runtime.store);
    const tell = async (outcome: string, text: string, pid?: number): Promise<ExitCode> => {
      const json = { [kind]: stream, outcome, pid: pid ?? null };
      await stdout.write(options.json === true ? jsonText(json, 2) : `${text}\n`);
      return EXIT.ok;
    };
    if (hasEnded(status) && owner === undefined)
      return tell('ended_before', `${stream} had ended already (${status}).`);
    const ends = { reason, by: BY, clock };
    const end = () =>
      kind === 'run' ? cancelUnownedRun(runtime.store, stream, ends) : cancelUnowned(runtime, stream, ends);
    if (owner === undefined && (await end()))
      return tell('cancelled', `Nobody worked on ${stream}: it is cancelled now.`);
    if (kind === 'run') await runtime.store.send(stream, { kind: RUN_CANCEL, from: BY, body: reason });
    else await runtime.cancel(stream, reason, BY);
    const pid = (await runtime.store.info(stream))?.owner?.pid ?? owner?.pid;
    return tell(
      'delivered',
      `Delivered to process ${pid}, which works on ${stream}: it stops what runs and ends it.`,
      pid,
    );
  });
}
