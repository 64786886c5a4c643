import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import type { SessionResult } from '../../agent/runtime-types.ts';
import { reportUnusedEdits } from '../artifact/report-unused-edits.ts';
import { chatModel, createChat, resumeChatCommand } from '../chat/chat.ts';
import { createMessageSource } from '../chat/read-typing.ts';
import type { CommandContext, ExitCode, RegisterCommand } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { usage } from '../options.ts';
import { isLost } from '../run/conclude.ts';
import { runMode } from '../run/run-mode.ts';
import { addBeginOptions, type BeginOptions, readBegin } from '../run/run-options.ts';
import { withAgent } from '../run/with-agent.ts';
import { type WorkOptions, workSession } from '../run/work-session.ts';
import { isInMemory, storeLocation } from '../session/store-options.ts';
import { harmlessLine } from '../view/harmless.ts';

const EXAMPLES = `
After each final response the session waits for your next message.
Ctrl-C stops the current turn. Pressed twice, it leaves the chat; the last line says how
to continue. Ctrl-D ends the conversation. /help lists the commands you can type.
In a pipe each line is a message, and the end of the input ends the conversation.
On a terminal, an exchange that fails does not end the chat. --max-turns applies to each exchange.

Examples:
  $ telltale chat agent.yml
  $ telltale chat agent.yml --resume last          also a session that "run" has completed
  $ printf 'Hello\\nAnd now?\\n' | telltale chat agent.yml --quiet
`;

export const registerChat: RegisterCommand = (program, context) => {
  addBeginOptions(program.command('chat'), 'continue this session')
    .summary('talk to an agent')
    .description(
      'Starts a conversation with an agent: one session, as many messages as you like. The log is kept, as with "run".',
    )
    .argument('<manifest>', "the agent's manifest")
    .argument('[message]', 'what to say first')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((manifest: string, message: string | undefined, options: BeginOptions) =>
        chat(manifest, message, options, context),
      ),
    );
};

async function chat(
  manifest: string,
  message: string | undefined,
  options: BeginOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  runMode(options, io);
  const begin = readBegin(options, io);
  if (message !== undefined && message.trim() === '')
    throw usage('The message is empty.', 'Leave it out and type it at the prompt.');
  const mustExist = options.resume !== undefined;
  return withAgent(manifest, { ...options, mustExist }, context, async (agent, opened) => {
    let result: SessionResult | undefined;
    const onResult = (ended: SessionResult) => {
      result = ended;
    };
    const work = { ...opened, onResult };
    let code = await firstExchanges(agent, { begin, message }, work, context);
    while (result !== undefined && canGoOn(result, work, io)) {
      const { session } = result;
      const said = await createMessageSource(io, () => session).next(io.signal);
      if (said === undefined) break;
      const { early: _, ...again } = work;
      const { resumeSession } = await import('../run/resume-session.ts');
      result = undefined;
      code = await resumeSession(session, { ...again, agent, chat: true, said }, context);
    }
    return code;
  });
}

/** A chat on a terminal continues after a failed exchange: the person reads the error and sends the next message. */
const canGoOn = (result: SessionResult, { store }: WorkOptions, io: Io): boolean =>
  (result.status === 'failed' || result.status === 'stalled') &&
  !isLost(result) &&
  !isInMemory(storeLocation(store, io)) &&
  io.stdin.isTerminal;

/** Runs until the session ends or an exchange fails. */
async function firstExchanges(
  agent: LoadedAgent,
  { begin, message }: { readonly begin: ReturnType<typeof readBegin>; readonly message: string | undefined },
  options: BeginOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  if (options.resume !== undefined) {
    const said = message === undefined ? {} : { said: message };
    const { resumeSession } = await import('../run/resume-session.ts');
    return resumeSession(options.resume, { ...options, agent, chat: true, ...said }, context);
  }
  return workSession(context, options, async (runtime, view) => {
    await reportUnusedEdits([agent], runtime.store, io, options);
    const lead = createChat(io, view);
    if (io.stdin.isTerminal && message === undefined) {
      const { dim } = paletteFor(io.stderr);
      const model = harmlessLine(options.model ?? agent.manifest.model ?? '');
      await io.stderr.write(
        `${dim(`${harmlessLine(agent.manifest.name)}${model === '' ? '' : ` · ${model}`} · /help`)}\n`,
      );
    }
    const input = message ?? (await lead.first());
    if (input === undefined) {
      await lead.end();
      if (!io.stdin.isTerminal && !io.signal.aborted)
        throw usage('Standard input is empty.', 'Pipe in messages, one per line.');
      return 'nothing said';
    }
    const resumeWith = resumeChatCommand(agent.path, io);
    const scripted = await chatModel(agent, options.model, io);
    return {
      session: runtime.start(agent, { ...begin, ...scripted, chat: true, input }),
      seen: 0,
      chat: { lead, resumeWith },
    };
  });
}
