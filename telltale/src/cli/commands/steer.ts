import { forkingBy, hearsNoMore, nobodyReads } from '../../agent/messages.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { signer } from '../program.ts';
import { readInput } from '../run/run-options.ts';
import { findSession, SESSION_HELP, streamToResume } from '../session/find-session.ts';
import { addStoreOption, storeFlag } from '../session/store-options.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-text.ts';

interface SteerOptions {
  readonly store?: string;
  readonly json?: true;
}

const EXAMPLES = `
${SESSION_HELP} The agent reads
the message at the beginning of its next turn.

Examples:
  $ telltale steer last "Leave the tests alone, only change src/"
  $ telltale steer last - < notes.txt
`;

export const registerSteer: RegisterCommand = (program, context) => {
  addStoreOption(program.command('steer'))
    .summary('send a message to a running agent')
    .description(
      'Sends a message to an agent, from any terminal. If no process runs the session, the message waits until it is resumed.',
    )
    .argument('<session>', 'which one')
    .argument('<text>', 'the message; "-" reads standard input')
    .option('--json', 'print {"session", "delivered", "pid"}')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((session: string, text: string, options: SteerOptions) =>
        steer(session, text, options, context),
      ),
    );
};

async function steer(
  asked: string,
  argument: string,
  options: SteerOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  return withStoredSessions(context, options, async (runtime) => {
    const info = await findSession(runtime.store, asked);
    const { stream } = info;
    const fork = `telltale fork ${stream} SEQ`;
    if (await hearsNoMore(runtime.store, info)) throw nobodyReads(stream, fork);
    const remedy = `Add the message after the session: telltale steer ${asked} "what to say"`;
    const text = await readInput(argument, io, remedy);
    await forkingBy(runtime.steer(stream, text, signer()), stream, fork);
    const owner = (await runtime.store.info(stream))?.owner;
    const resume = `${await streamToResume(runtime.store, info, io)}${storeFlag(options.store)}`;
    await io.stdout.write(
      options.json === true
        ? jsonText({ session: stream, delivered: owner !== undefined, pid: owner?.pid ?? null }, 2)
        : owner === undefined
          ? `No process works on ${stream} now. The message waits until you resume it.\nResume with: ${resume}\n`
          : `Delivered to process ${owner.pid}, which works on ${stream}. The agent reads it in its next turn.\n`,
    );
    return EXIT.ok;
  });
}
