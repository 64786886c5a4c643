import { type Command, Option } from 'commander';
import type { RegisterCommand } from '../command.ts';
import { noSubcommand, type WithOptions, wholeNumber } from '../options.ts';
import { addModeOptions } from '../run/run-mode.ts';
import { findRun, RUN_HELP } from '../session/find-session.ts';
import type { LogOptions } from '../session/print-log.ts';
import { addStoreOption, durabilityOption } from '../session/store-options.ts';
import type { ListRunsOptions } from '../workflow/list-runs.ts';
import type { WorkflowResumeOptions } from '../workflow/resume-run.ts';
import type { SignalOptions, WorkflowRunOptions } from '../workflow/run-workflow.ts';
import type { CancelOptions } from './cancel.ts';

const EXAMPLES = `
Ctrl-C stops a run; you can resume it later. A second Ctrl-C exits at once. If a run only
waits (for an answer, an event or a time), the command ends and the run stays in the store.
Exit codes: 0 completed, 1 failed or cancelled, 2 bad usage or manifest, 3 waiting,
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
MANIFEST is the agent that the workflow runs as, with its tools, models and permissions.
Name the WORKFLOW if the agent has several.

Examples:
  $ telltale workflow run agent.yml
  $ telltale workflow run agent.yml release --input '{"version": "1.2.0"}' --var dry=true
  $ telltale workflow run agent.yml release --quiet > notes.md
  $ telltale workflow run agent.yml walk --id monday --debug invoke
`;

export const registerWorkflow: RegisterCommand = (program, context) => {
  const workflow = addListOptions(program.command('workflow'))
    .summary('run a workflow on its own; list, show, resume, cancel or signal runs')
    .description('Runs workflows on their own and manages their runs. Without a subcommand, lists the runs.')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: ListRunsOptions, command: Command) => {
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
    .argument('[workflow]', 'the name of the workflow, if the agent has several')
    .option('--input <json>', 'the input: a JSON object, @FILE, or @- for standard input')
    .addOption(
      new Option(
        '--var <name=value>',
        'set a variable (repeatable); the value is read as JSON if it is valid JSON, else as text',
      )
        .argParser(collect)
        .default([], 'none'),
    )
    .option('--agent <name>', 'which agent, if the file has several')
    .option('--id <id>', 'the id of the run, which also seeds its random numbers (default: a new one)')
    .addHelpText('after', RUN_EXAMPLES)
    .action(
      context.run(async (manifest: string, name: string | undefined, _own: unknown, command: WithOptions) =>
        (await import('../workflow/run-workflow.ts')).runWorkflow(
          manifest,
          name,
          command.optsWithGlobals<WorkflowRunOptions>(),
          context,
        ),
      ),
    );
  addListOptions(workflow.command('list'))
    .description('Lists runs, newest first.')
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../workflow/list-runs.ts')).listRuns(
          command.optsWithGlobals<ListRunsOptions>(),
          context,
        ),
      ),
    );
  sub('show', 'show a run', 'Shows the state of a run: status, states, steps, variables.')
    .argument('<run>', RUN_HELP)
    .option('--seq <n>', 'the state after event n instead of the latest')
    .option('--json', 'print it as JSON')
    .action(
      context.run(async (run: string, _own: unknown, command: WithOptions) =>
        show(run, command.optsWithGlobals()),
      ),
    );
  sub('logs', 'print the events of a run; -f follows it', 'Prints the events of a run, a line each.')
    .argument('<run>', RUN_HELP)
    .option('-f, --follow', 'keep printing new events until it ends')
    .option('--from <n>', 'start at event n')
    .option('--type <types>', 'only these event types or groups of types; separate several with commas')
    .option('--json', 'print events as JSON, one per line')
    .action(
      context.run(async (run: string, _own: unknown, command: WithOptions) => {
        const { printLog } = await import('../session/print-log.ts');
        return printLog(command.optsWithGlobals<LogOptions>(), context, (store) => findRun(store, run));
      }),
    );
  addWorkOptions(sub('resume', 'resume a run', 'Resumes a run where its log ends. Shows only what is new.'))
    .argument('<run>', RUN_HELP)
    .option('--accept-changes', 'continue even if the manifest has changed; first shows what that means')
    .option('--dry-run', 'with --accept-changes: only show what it means')
    .addOption(
      new Option('--decide <step=what>', 'for a step in doubt: rerun, skip, skip:JSON or fail (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .addOption(
      new Option('--run-new <step>', 'run a new step even if the run is already past it (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .action(
      context.run(async (run: string, _own: unknown, command: WithOptions) =>
        (await import('../workflow/resume-run.ts')).resumeRun(
          run,
          command.optsWithGlobals<WorkflowResumeOptions>(),
          context,
        ),
      ),
    );
  sub(
    'cancel',
    'end a run',
    'Ends a run and undoes its steps that can be undone, in the process that works on it or here.',
  )
    .argument('<run>', RUN_HELP)
    .option('--reason <text>', 'the reason, for the log')
    .option('--force', 'end it at once and undo nothing')
    .option('--json', 'print {"run", "outcome", "pid"}')
    .action(
      context.run(async (run: string, _own: unknown, command: WithOptions) => {
        const { cancelStream } = await import('./cancel.ts');
        return cancelStream(command.optsWithGlobals<CancelOptions>(), context, (store) =>
          findRun(store, run),
        );
      }),
    );
  sub(
    'signal',
    'send an event to a run',
    'Sends an event to a "wait" step of a run. It also counts if the step starts later.',
  )
    .argument('<run>', RUN_HELP)
    .argument(
      '<event>',
      'the event: what the step\'s "event" says; for "custom", the name that its "match" wants',
    )
    .argument('[data]', "the event's data: a JSON object, or @FILE")
    .option('--from <name>', 'the person you send it for; your user name is recorded too')
    .option('--json', 'print {"run", "event", "outcome", "pid"}')
    .action(
      context.run(
        async (run: string, event: string, data: string | undefined, _own: unknown, command: WithOptions) =>
          (await import('../workflow/run-workflow.ts')).signalRun(
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
      import('../command.ts'),
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
    .option('--status <status>', 'only this status; separate several with commas')
    .option('--of <id>', 'only runs that this session or run triggered or called')
    .option('--limit <n>', 'how many (default: 20)')
    .option('--json', 'print them as JSON');

const addWorkOptions = (command: Command): Command =>
  addModeOptions(command, 'output')
    .option('--wait', 'stay while the run waits instead of ending the command')
    .addOption(
      new Option('--debug <what>', 'also show the time and cost of each artifact decision').choices([
        'invoke',
      ]),
    )
    .addOption(durabilityOption());

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];
