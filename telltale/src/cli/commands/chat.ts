import { tellUnusedEdits } from '../artifact/tell-unused-edits.ts';
import { chatAgain } from '../chat/chat-again.ts';
import { chatModel } from '../chat/chat-model.ts';
import { createChat } from '../chat/create-chat.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { addBeginOptions, type BeginOptions, readBegin } from '../run/begin-options.ts';
import { runMode } from '../run/run-mode.ts';
import { withAgent } from '../run/with-agent.ts';
import { workSession } from '../run/work-session.ts';
import { usage } from '../usage.ts';
import { harmlessLine } from '../view/harmless.ts';

const EXAMPLES = `
A final response ends the exchange; the session then waits for the next message.
Ctrl-C breaks off the turn, twice leaves: the last line says how to go on.
Ctrl-D ends the conversation. /help lists what can be typed beside messages.
In a pipe each line is a message, and the end of the input ends the conversation.
--max-turns counts for each exchange.

Examples:
  $ telltale chat agent.yml
  $ telltale chat agent.yml --resume last          also one that "run" has completed
  $ printf 'Hello\\nAnd now?\\n' | telltale chat agent.yml --quiet
`;

export const registerChat: RegisterCommand = (program, context) => {
  addBeginOptions(program.command('chat'), 'go on with this session')
    .summary('talk to an agent')
    .description(
      'Talks to an agent: one session, as many messages as you like. Its log is kept as that of a run.',
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
  const given = readBegin(options, io);
  if (message !== undefined && message.trim() === '')
    throw usage('The message is empty.', 'Leave it out, and type it when asked.');
  const mustExist = options.resume !== undefined;
  return withAgent(manifest, { ...options, mustExist }, context, async (agent, work) => {
    if (options.resume !== undefined) {
      const said = message === undefined ? {} : { said: message };
      const { resumeSession } = await import('../run/resume-session.ts');
      return resumeSession(options.resume, { ...work, agent, chat: true, ...said }, context);
    }
    return workSession(context, work, async (runtime, view) => {
      await tellUnusedEdits([agent], runtime.store, io, options);
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
          throw usage('Standard input is empty.', 'Pipe in messages, one a line.');
        return 'nothing said';
      }
      const resumeWith = chatAgain(agent.path, io);
      const scripted = await chatModel(agent, options.model, io);
      return {
        session: runtime.start(agent, { ...given, ...scripted, chat: true, input }),
        seen: 0,
        chat: { lead, resumeWith },
      };
    });
  });
}
