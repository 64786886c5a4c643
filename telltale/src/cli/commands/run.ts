import { reportUnusedEdits } from '../artifact/report-unused-edits.ts';
import type { CommandContext, ExitCode, RegisterCommand } from '../command.ts';
import { shellWord } from '../options.ts';
import { runMode } from '../run/run-mode.ts';
import { addBeginOptions, type BeginOptions, readBegin, readInput } from '../run/run-options.ts';
import { withAgent } from '../run/with-agent.ts';
import { workSession } from '../run/work-session.ts';

const EXAMPLES = `
Ctrl-C stops the session; you can resume it later. A second Ctrl-C exits at once.
Exit codes: 0 completed, 1 failed or cancelled, 2 bad usage or manifest,
3 stalled or waiting for a person, 130 interrupted.

Examples:
  $ telltale run agent.yml "Fix the failing test"
  $ git diff | telltale run reviewer.yml --quiet > review.md
  $ telltale run agent.yml "Say hello" --model scripted:./turns.yml --var tone=dry
  $ telltale run agent.yml "Go" --events | jq -c 'select(.type == "action.completed")'
`;

export const registerRun: RegisterCommand = (program, context) => {
  addBeginOptions(program.command('run'), 'resume this session; the input is sent to the agent as a message')
    .summary('run an agent')
    .description(
      'Runs an agent and shows what it does: a live view on a terminal, plain lines in a pipe. Everything is kept on a log, so you can inspect, resume or fork the session later.',
    )
    .argument('<manifest>', "the agent's manifest")
    .argument('[input]', 'what to do; "-" reads standard input, as does leaving it out in a pipe')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((manifest: string, input: string | undefined, options: BeginOptions) =>
        run(manifest, input, options, context),
      ),
    );
};

async function run(
  manifest: string,
  input: string | undefined,
  options: BeginOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  runMode(options, io);
  const given = readBegin(options, io);
  const mustExist = options.resume !== undefined;
  return withAgent(manifest, { ...options, mustExist }, context, async (agent, work) => {
    if (options.resume !== undefined) {
      const said = input === undefined ? undefined : await readInput(input, io, toldWith(manifest));
      const { resumeSession } = await import('../run/resume-session.ts');
      return resumeSession(
        options.resume,
        { ...work, agent, ...(said === undefined ? {} : { said }) },
        context,
      );
    }
    const start = { ...given, input: await readInput(input, io, toldWith(manifest)) };
    return workSession(context, work, async (runtime) => {
      await reportUnusedEdits([agent], runtime.store, io, options);
      return { session: runtime.start(agent, start), seen: 0 };
    });
  });
}

const toldWith = (manifest: string): string =>
  `Add a task after the manifest: telltale run ${shellWord(manifest)} "what to do"`;
