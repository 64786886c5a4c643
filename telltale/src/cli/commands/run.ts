import { resolve } from 'node:path';
import type { StartOptions } from '../../session/runtime-types.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { collect } from '../run/collect.ts';
import { readInput } from '../run/read-input.ts';
import { readVars } from '../run/read-vars.ts';
import { runMode } from '../run/run-mode.ts';
import { withAgent } from '../run/with-agent.ts';
import { addWorkOptions, maxTurnsOf } from '../run/work-options.ts';
import { type WorkOptions, workSession } from '../run/work-session.ts';
import { usage } from '../usage.ts';

interface Options extends WorkOptions {
  readonly model?: string;
  readonly record?: string;
  readonly resume?: string;
  readonly var: readonly string[];
  readonly acceptChanges?: true;
}

const EXAMPLES = `
Ctrl-C stops the session so that it can be resumed; a second one ends at once.
Ends with 0 completed, 1 failed or cancelled, 2 bad usage or manifest,
3 stalled or waiting for a person, 130 interrupted.

Examples:
  $ telltale run agent.yml "Fix the failing test"
  $ git diff | telltale run reviewer.yml --quiet > review.md
  $ telltale run agent.yml "Say hello" --model scripted:./turns.yml --var tone=dry
  $ telltale run agent.yml "Go" --events | jq -c 'select(.type == "action.completed")'
`;

export const registerRun: RegisterCommand = (program, context) => {
  addWorkOptions(program.command('run'))
    .summary('run an agent')
    .description(
      'Runs an agent: a live view on a terminal, plain lines in a pipe. Its log is kept, so that it can be looked at, resumed and forked.',
    )
    .argument('<manifest>', "the agent's manifest")
    .argument('[input]', 'what to do; "-", or nothing where something is piped in, reads standard input')
    .option('--resume <session>', 'go on with this session; an input is put before the agent as a message')
    .option('--accept-changes', 'with --resume: go on although the manifest has changed')
    .option(
      '--var <name=value>',
      'set a variable (repeatable); JSON where it is JSON, else text',
      collect,
      [],
    )
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((manifest: string, input: string | undefined, options: Options) =>
        run(manifest, input, options, context),
      ),
    );
};

async function run(
  manifest: string,
  input: string | undefined,
  options: Options,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  runMode(options, io);
  const maxTurns = maxTurnsOf(options);
  const vars = readVars(options.var);
  if (options.resume !== undefined && options.var.length > 0)
    throw usage(
      "'--var' cannot be changed for a session that has begun.",
      'Leave it out, or start a new session without --resume.',
    );
  if (options.acceptChanges && options.resume === undefined)
    throw usage("'--accept-changes' belongs to --resume.", 'Leave it out.');
  return withAgent(manifest, options, context, async (agent, work) => {
    if (options.resume !== undefined) {
      const said = input === undefined ? undefined : await readInput(input, io, `telltale run ${manifest}`);
      const { resumeSession } = await import('../run/resume-session.ts');
      return resumeSession(
        options.resume,
        { ...work, agent, ...(said === undefined ? {} : { said }) },
        context,
      );
    }
    const start: StartOptions = {
      input: await readInput(input, io, `telltale run ${manifest}`),
      ...(options.var.length === 0 ? {} : { vars }),
      ...(options.model === undefined ? {} : { model: options.model }),
      ...(options.record === undefined ? {} : { record: resolve(io.cwd, options.record) }),
      ...(maxTurns === undefined ? {} : { maxTurns }),
    };
    return workSession(context, work, async (runtime) => ({
      session: runtime.start(agent, start),
      seen: 0,
    }));
  });
}
