import { type Command, Option } from 'commander';
import type { RegisterCommand } from '../command.ts';
import { addModeOptions } from '../run/run-mode.ts';
import { durabilityOption } from '../session/durability-option.ts';
import { findRun } from '../session/find-session.ts';
import type { LogOptions } from '../session/print-log.ts';
import { RUN_HELP } from '../session/session-help.ts';
import { addStoreOption } from '../session/store-option.ts';
import { noSubcommand, type WithOptions } from '../subcommand.ts';
import { wholeNumber } from '../whole-number.ts';
import type { ListOptions } from '../workflow/list-runs.ts';
import type { ResumeOptions } from '../workflow/resume-run.ts';
import type { RunWorkflowOptions } from '../workflow/run-workflow.ts';
import type { SignalOptions } from '../workflow/signal-run.ts';
import type { CancelOptions } from './cancel.ts';

const EXAMPLES = `
Ctrl-C stops a run so that it can be resumed; a second one ends at once. A run that has
nothing to do but wait is let go of: no process is held.
Ends with 0 completed, 1 failed or cancelled, 2 bad usage or manifest, 3 waiting,
130 interrupted.

Examples:
  $ telltale workflow run agent.yml release --input '{"version": "1.2.0"}'
  $ telltale workflow run agent.yml release --input @release.json --events
  $ telltale workflow list --status waiting
  $ telltale workflow signal last payment '{"amount": 12}'
  $ telltale workflow resume last
  $ telltale workflow resume last --accept-changes --dry-run
  $ telltale workflow resume last --accept-changes --decide charge=skip
`;

const RUN_EXAMPLES = `
MANIFEST is that of the agent in whose name the workflow runs: its tools, models and
permissions. WORKFLOW is needed where it has several.

Examples:
  $ telltale workflow run agent.yml
  $ telltale workflow run agent.yml release --input '{"version": "1.2.0"}' --var dry=true
  $ telltale workflow run agent.yml release --quiet > notes.md
  $ telltale workflow run agent.yml walk --id monday --debug invoke
`;

export const registerWorkflow: RegisterCommand = (program, context) => {
  const workflow = addListOptions(program.command('workflow'))
    .summary('run a workflow on its own; list, show, resume, cancel or signal runs')
    .description('Runs workflows on their own, and looks after their runs. Without more, lists them.')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: ListOptions, command: Command) => {
        const [asked] = command.args;
        if (asked !== undefined) throw noSubcommand(asked, command);
        return (await import('../workflow/list-runs.ts')).listRuns(options, context);
      }),
    );
  const sub = (name: string, summary: string, description = summary) =>
    addStoreOption(workflow.command(name)).summary(summary).description(description);

  addWorkOptions(
    sub('run', 'run a workflow', 'Runs a workflow: a live view on a terminal, plain lines in a pipe.'),
  )
    .argument('<manifest>', "the agent's manifest")
    .argument('[workflow]', 'which of its workflows')
    .option('--input <json>', 'its input: a JSON object, @FILE, or @- for standard input')
    .addOption(
      new Option('--var <name=value>', 'set a variable (repeatable); JSON where it is JSON, else text')
        .argParser(collect)
        .default([], 'none'),
    )
    .option('--agent <name>', 'which agent, where the file holds several')
    .option('--id <id>', 'the id of the run, which also decides what chance brings (default: a new one)')
    .addHelpText('after', RUN_EXAMPLES)
    .action(
      context.run(async (manifest: string, name: string | undefined, _own: unknown, command: WithOptions) =>
        (await import('../workflow/run-workflow.ts')).runWorkflow(
          manifest,
          name,
          command.optsWithGlobals<RunWorkflowOptions>(),
          context,
        ),
      ),
    );
  addListOptions(workflow.command('list'))
    .description('Lists runs, newest first.')
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../workflow/list-runs.ts')).listRuns(command.optsWithGlobals<ListOptions>(), context),
      ),
    );
  sub('show', 'show a run', 'Shows what is known of a run: status, states, steps, variables.')
    .argument('<run>', RUN_HELP)
    .option('--seq <n>', 'the state after event n, in place of the newest')
    .option('--json', 'print it as JSON')
    .action(
      context.run(async (run: string, _own: unknown, command: WithOptions) =>
        show(run, command.optsWithGlobals()),
      ),
    );
  sub('logs', 'print the events of a run; -f follows it', 'Prints the events of a run, a line each.')
    .argument('<run>', RUN_HELP)
    .option('-f, --follow', 'go on until it ends')
    .option('--from <n>', 'begin with event n')
    .option('--type <types>', 'only these types, or groups of types; several with commas')
    .option('--json', 'print events as JSON, one a line')
    .action(
      context.run(async (run: string, _own: unknown, command: WithOptions) => {
        const { printLog } = await import('../session/print-log.ts');
        return printLog(command.optsWithGlobals<LogOptions>(), context, (store) => findRun(store, run));
      }),
    );
  addWorkOptions(
    sub('resume', 'go on with a run', 'Goes on with a run where its log ends. Only what is new is shown.'),
  )
    .argument('<run>', RUN_HELP)
    .option('--accept-changes', 'go on although the manifest has changed; shows what that means first')
    .option('--dry-run', 'with --accept-changes: only show what it means')
    .addOption(
      new Option('--decide <step=what>', 'for a step in doubt: rerun, skip, skip:JSON or fail (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .addOption(
      new Option('--run-new <step>', 'run a new step although its place has passed (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .action(
      context.run(async (run: string, _own: unknown, command: WithOptions) =>
        (await import('../workflow/resume-run.ts')).resumeRun(
          run,
          command.optsWithGlobals<ResumeOptions>(),
          context,
        ),
      ),
    );
  sub(
    'cancel',
    'end a run',
    'Ends a run, and undoes what its steps say is to be undone: in the process that works on it, or here.',
  )
    .argument('<run>', RUN_HELP)
    .option('--reason <text>', 'why, for the log')
    .option('--force', 'end it at once, without undoing what its steps have done')
    .option('--json', 'print {"run", "outcome", "pid"}')
    .action(
      context.run(async (run: string, _own: unknown, command: WithOptions) => {
        const { cancelStream } = await import('./cancel.ts');
        return cancelStream(command.optsWithGlobals<CancelOptions>(), context, (store) =>
          findRun(store, run),
        );
      }),
    );
  sub('signal', 'send an event to a run', 'Sends an event that a "wait" step waits for, now or later.')
    .argument('<run>', RUN_HELP)
    .argument(
      '<event>',
      'the event: what the step\'s "event" says; for "custom", the name that its "match" wants',
    )
    .argument('[data]', 'what it carries: a JSON object, or @FILE')
    .option('--from <name>', 'for whom you send it; your user name is recorded with it')
    .option('--json', 'print {"run", "event", "outcome", "pid"}')
    .action(
      context.run(
        async (run: string, event: string, data: string | undefined, _own: unknown, command: WithOptions) =>
          (await import('../workflow/signal-run.ts')).signalRun(
            run,
            event,
            data,
            command.optsWithGlobals<SignalOptions>(),
            context,
          ),
      ),
    );

  const show = async (asked: string, options: { store?: string; seq?: string; json?: true }) => {
    const [{ withStoredSessions }, { showRun }, { EXIT }] = await Promise.all([
      import('../session/with-runtime.ts'),
      import('../session/show-run.ts'),
      import('../exit-code.ts'),
    ]);
    const seq = options.seq === undefined ? undefined : wholeNumber('--seq', options.seq);
    return withStoredSessions(context, options, async ({ store }) => {
      await showRun(store, await findRun(store, asked), context.io, { seq, json: options.json });
      return EXIT.ok;
    });
  };
};

const addListOptions = (command: Command): Command =>
  addStoreOption(command)
    .option('--status <status>', 'only those of this status; several with commas')
    .option('--of <id>', 'only those that this session or run has set off or called')
    .option('--limit <n>', 'how many (default: 20)')
    .option('--json', 'print them as JSON');

const addWorkOptions = (command: Command): Command =>
  addModeOptions(command, 'output')
    .option('--wait', 'stay while it only waits, in place of letting go of it')
    .addOption(
      new Option('--debug <what>', 'also show what each decision of an artifact took and cost').choices([
        'invoke',
      ]),
    )
    .addOption(durabilityOption());

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];
