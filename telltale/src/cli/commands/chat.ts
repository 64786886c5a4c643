import { resolve } from 'node:path';
import type { StartOptions } from '../../session/runtime-types.ts';
import { chatAgain } from '../chat/chat-again.ts';
import { createChat } from '../chat/create-chat.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { collect } from '../run/collect.ts';
import { readVars } from '../run/read-vars.ts';
import { runMode } from '../run/run-mode.ts';
import { withAgent } from '../run/with-agent.ts';
import { addWorkOptions, maxTurnsOf } from '../run/work-options.ts';
import { type WorkOptions, workSession } from '../run/work-session.ts';
import { usage } from '../usage.ts';
import { harmlessLine } from '../view/harmless.ts';

interface Options extends WorkOptions {
  readonly model?: string;
  readonly record?: string;
  readonly resume?: string;
  readonly var: readonly string[];
  readonly acceptChanges?: true;
}

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
  addWorkOptions(program.command('chat'))
    .summary('talk to an agent')
    .description(
      'Talks to an agent: one session, as many messages as you like. Its log is kept as that of a run.',
    )
    .argument('<manifest>', "the agent's manifest")
    .argument('[message]', 'what to say first')
    .option('--resume <session>', 'go on with this session')
    .option('--accept-changes', 'with --resume: go on although the manifest has changed')
    .option(
      '--var <name=value>',
      'set a variable (repeatable); JSON where it is JSON, else text',
      collect,
      [],
    )
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((manifest: string, message: string | undefined, options: Options) =>
        chat(manifest, message, options, context),
      ),
    );
};

async function chat(
  manifest: string,
  message: string | undefined,
  options: Options,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  runMode(options, io);
  const maxTurns = maxTurnsOf(options);
  const vars = readVars(options.var);
  if (message !== undefined && message.trim() === '')
    throw usage('The message is empty.', 'Leave it out, and type it when asked.');
  if (options.resume !== undefined && options.var.length > 0)
    throw usage(
      "'--var' cannot be changed for a session that has begun.",
      'Leave it out, or start a new session without --resume.',
    );
  if (options.acceptChanges && options.resume === undefined)
    throw usage("'--accept-changes' belongs to --resume.", 'Leave it out.');
  return withAgent(manifest, options, context, async (agent, work) => {
    if (options.resume !== undefined) {
      const said = message === undefined ? {} : { said: message };
      const { resumeSession } = await import('../run/resume-session.ts');
      return resumeSession(options.resume, { ...work, agent, chat: true, ...said }, context);
    }
    const given: Omit<StartOptions, 'input'> = {
      chat: true,
      ...(options.var.length === 0 ? {} : { vars }),
      ...(options.model === undefined ? {} : { model: options.model }),
      ...(options.record === undefined ? {} : { record: resolve(io.cwd, options.record) }),
      ...(maxTurns === undefined ? {} : { maxTurns }),
    };
    return workSession(context, work, async (runtime, view) => {
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
      return { session: runtime.start(agent, { ...given, input }), seen: 0, chat: { lead, resumeWith } };
    });
  });
}
