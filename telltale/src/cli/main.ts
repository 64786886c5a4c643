import { Command, CommanderError, Help } from 'commander';
import { RuntimeError, toRuntimeError } from '../lib/errors.ts';
import { suggest } from '../lib/nearest.ts';
import { printable } from '../manifest/diagnostic.ts';
import type { CommandContext, RegisterCommand } from './command.ts';
import { EXIT, type ExitCode, type RuntimePort, sessionRuntimes } from './command.ts';
import type { Io } from './io.ts';
import { paletteFor } from './io.ts';
import { isUsage, underlineArgument, usage, usageOf } from './options.ts';
import { packageVersion } from './program.ts';
import { asTyped, storeFlagIn } from './session/store-options.ts';
import { jsonText } from './view/json-text.ts';
import { sentences, wrap } from './view/text-width.ts';

/**
 * Runs one command line (without the program's own name) and resolves to the exit code. It never rejects, never ends
 * the process, and reaches the process only through `io`.
 */
export async function main(
  argv: readonly string[],
  io: Io,
  commands?: readonly RegisterCommand[],
  runtimes: RuntimePort = sessionRuntimes,
): Promise<number> {
  const command: Stopping = { endsWhenStopped: false };
  try {
    const code = await runCommand(argv, io, commands ?? (await commandsFor(argv)), runtimes, command);
    const isInOrder = command.endsWhenStopped && !(io.signal.reason instanceof RuntimeError);
    return io.signal.aborted && !isInOrder ? await stopped(argv, io) : code;
  } catch (thrown) {
    const error = toRuntimeError(thrown);
    if (io.signal.aborted) return stopped(argv, io, isFailure(thrown, command, io) ? error : undefined);
    await report(error, argv, io);
    return isUsage(error) ? EXIT.usage : EXIT.failed;
  }
}

interface Stopping {
  /** Whether the command runs until it is stopped, so that being stopped is its normal end. */
  endsWhenStopped: boolean;
}

/** A person stopped the command, an error outside the command stopped it, or `failure` kept it from ending. */
async function stopped(argv: readonly string[], io: Io, failure?: RuntimeError): Promise<ExitCode> {
  const { reason } = io.signal;
  const error = reason instanceof RuntimeError ? reason : failure;
  if (error === undefined) return EXIT.interrupted;
  // This is text even with --json, because the command itself may already have printed its JSON.
  await reportText(error, argv, io);
  return EXIT.failed;
}

/**
 * Whether an error that a command threw after it was stopped is a real failure. For a command that runs until it is
 * stopped, every error is. For the others, only an error of writing or closing the store is.
 */
function isFailure(thrown: unknown, { endsWhenStopped }: Stopping, { signal }: Io): boolean {
  if (thrown === signal.reason || (thrown instanceof Error && thrown.name === 'AbortError')) return false;
  const { code } = toRuntimeError(thrown);
  if (CLOSED.has(code)) return false;
  return endsWhenStopped || code.startsWith('store_');
}

/** The codes of calls to something that was closed in the meantime. */
const CLOSED: ReadonlySet<string> = new Set(['runtime_closed', 'store_closed', 'engine_closed']);

async function runCommand(
  argv: readonly string[],
  io: Io,
  commands: readonly RegisterCommand[],
  runtimes: RuntimePort,
  stopping: Stopping,
): Promise<ExitCode> {
  const printed: string[] = [];
  let exitCode: ExitCode = EXIT.ok;
  const context: CommandContext = {
    io,
    runtimes,
    run:
      <Args extends readonly unknown[]>(action: (...args: Args) => Promise<ExitCode>) =>
      async (...args: unknown[]) => {
        exitCode = await action(...(args as unknown as Args));
      },
    endsWhenStopped() {
      stopping.endsWhenStopped = true;
    },
  };
  const program = createProgram(io, (text) => printed.push(text), isHelpAll(argv));
  for (const register of commands) register(program, context);
  for (const command of program.commands) command.helpGroup(`${GROUP_OF.get(command.name()) ?? 'Other'}:`);
  try {
    if (argv.length === 0 || isHelpAll(argv)) program.outputHelp();
    else await program.parseAsync(argv, { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.code === 'commander.help' && thrown.exitCode !== 0) throw noSuchCommand(program, argv);
    if (thrown.exitCode !== 0) throw usageOf(thrown, helpCommand(program, argv));
  }
  await io.stdout.write(asTyped(printed.join(''), io));
  return exitCode;
}

const isHelpAll = (argv: readonly string[]): boolean =>
  argv.length === 2 && argv[0] === 'help' && argv[1] === 'all';

const USUAL_COLUMNS = 80;
/** If descriptions would get less room than this, they get lines of their own. */
const LEAST_DESCRIPTION = 30;

/** Sets up commander so that it cannot reach the process: it prints through `print` and throws instead of exiting. */
function createProgram(io: Io, print: (text: string) => void, isAll: boolean): Command {
  const visible = (command: Command): Command[] => {
    const known = new Help().visibleCommands(command);
    if (isAll || command.parent !== null) return known;
    const first = known.filter((each) => FIRST_COMMANDS.includes(each.name()));
    return first.length === 0 ? known : first;
  };
  const plain = new Help();
  return (
    new Command(io.program)
      .description("Telltale runs your agent's tool calls while the model is still talking.")
      .version(packageVersion(), '-V, --version', 'print the version')
      // After a subcommand, --version is that command's own option: `artifact show NAME --version 1`.
      .enablePositionalOptions()
      .helpOption('-h, --help', 'print help')
      .helpCommand('help [command]', 'print help for a command')
      .configureHelp({
        visibleCommands: visible,
        subcommandTerm: (command) => new Help().subcommandTerm(command).replace(' [options]', ''),
        formatItem(term, width, description, help) {
          const columns = help.helpWidth ?? USUAL_COLUMNS;
          if (columns - width >= LEAST_DESCRIPTION) return plain.formatItem(term, width, description, help);
          return `  ${term}\n${wrap(description, columns - 7)
            .map((row) => `      ${row}`)
            .join('\n')}`;
        },
      })
      .configureOutput({
        writeOut: print,
        writeErr: print,
        outputError: () => {},
        getOutHelpWidth: () => io.stdout.columns ?? USUAL_COLUMNS,
        getErrHelpWidth: () => io.stderr.columns ?? USUAL_COLUMNS,
        getOutHasColors: () => io.stdout.color,
        getErrHasColors: () => io.stderr.color,
      })
      .addHelpText(
        'after',
        `${isAll ? '' : MORE_HELP}
Exit codes: 0 done, 1 failed, 2 bad usage or manifest, 3 stalled or waiting for
a person, 130 interrupted.`,
      )
      .exitOverride()
  );
}

const MORE_HELP = `
All commands:            telltale help all
One command in detail:   telltale help COMMAND
See an agent at work:    telltale demo
`;

/** For `help nosuch`, commander itself would print the help page on stderr and fail without a message. */
function noSuchCommand(program: Command, argv: readonly string[]): RuntimeError {
  const known = new Help().visibleCommands(program).map((command) => command.name());
  const asked = argv.find((word) => word !== 'help' && !word.startsWith('-')) ?? '';
  return usage(`There is no command '${asked}'.`, suggest(asked, known));
}

/** The command that the user called, including its subcommand (`telltale workflow run`), even if options precede it. */
function helpCommand(program: Command, argv: readonly string[]): string {
  const command = program.commands.find((known) => known.name() === argv[0]);
  if (command === undefined) return 'telltale';
  const below = argv
    .slice(1)
    .flatMap((word) => command.commands.filter((known) => known.name() === word))
    .at(0);
  return ['telltale', command.name(), ...(below === undefined ? [] : [below.name()])].join(' ');
}

/**
 * With --json, prints one JSON value on stdout, so that a script reads only one place. Otherwise prints three lines on
 * stderr.
 */
async function report(error: RuntimeError, argv: readonly string[], io: Io): Promise<void> {
  if (!asksForJson(argv)) return reportText(error, argv, io);
  const hint = hintOf(error, argv, io);
  const json = { ...error.toJSON(), ...(hint === undefined ? {} : { hint }) };
  try {
    await io.stdout.write(jsonText({ ok: false, error: json }, 2));
  } catch {
    // Nobody can read stdout any more.
    return reportText(error, argv, io);
  }
  await reportStack(error, io);
}

/** Prints what happened, where, and what to do. Control characters in arguments are removed. */
async function reportText(error: RuntimeError, argv: readonly string[], io: Io): Promise<void> {
  await reportStack(error, io);
  const hint = hintOf(error, argv, io);
  const { bold, cyan, dim, red } = paletteFor(io.stderr);
  const [line = '', caret] = underlineArgument(argv, error.message, io.program);
  const { columns } = io.stderr;
  const what = `${red(bold('error'))}: ${bold(printable(error.message))}`;
  const lines = [...sentences([what], columns), `  ${dim(printable(line))}`];
  if (caret !== undefined) lines.push(`  ${red(caret)}`);
  if (hint !== undefined) lines.push(...sentences([`  ${cyan('→')} ${printable(hint)}`], columns));
  await io.stderr.write(`${lines.join('\n')}\n`);
}

async function reportStack({ stack, message }: RuntimeError, { env, stderr }: Io): Promise<void> {
  if (env.TELLTALE_DEBUG) await stderr.write(`${stack ?? message}\n`);
}

function hintOf({ hint, code }: RuntimeError, argv: readonly string[], io: Io): string | undefined {
  if (hint !== undefined) {
    const told = code === 'store_unreachable' ? `${hint} Then run the command again.` : hint;
    return asTyped(told, io, storeFlagIn(argv));
  }
  return code === 'internal' ? 'Set TELLTALE_DEBUG=1 for the stack trace.' : undefined;
}

function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}

/**
 * Every command by group, in the order of the help page, with its module. Only the called command is loaded. To add a
 * command, add a file to `commands/` and a line here.
 */
const GROUPS: Readonly<Record<string, Readonly<Record<string, () => Promise<RegisterCommand>>>>> = {
  Build: {
    init: async () => (await import('./commands/init.ts')).registerInit,
    validate: async () => (await import('./commands/validate.ts')).registerValidate,
    test: async () => (await import('./commands/test.ts')).registerTest,
    inspect: async () => (await import('./commands/inspect.ts')).registerInspect,
    schema: async () => (await import('./commands/schema.ts')).registerSchema,
    graph: async () => (await import('./commands/graph.ts')).registerGraph,
    parse: async () => (await import('./commands/parse.ts')).registerParse,
    feeds: async () => (await import('./commands/feeds.ts')).registerFeeds,
    memory: async () => (await import('./commands/memory.ts')).registerMemory,
    artifact: async () => (await import('./commands/artifact.ts')).registerArtifact,
    import: async () => (await import('./commands/import.ts')).registerImport,
    completion: async () => (await import('./commands/completion.ts')).registerCompletion,
  },
  Run: {
    run: async () => (await import('./commands/run.ts')).registerRun,
    chat: async () => (await import('./commands/chat.ts')).registerChat,
    resume: async () => (await import('./commands/resume.ts')).registerResume,
    steer: async () => (await import('./commands/steer.ts')).registerSteer,
    cancel: async () => (await import('./commands/cancel.ts')).registerCancel,
    fork: async () => (await import('./commands/fork.ts')).registerFork,
    workflow: async () => (await import('./commands/workflow.ts')).registerWorkflow,
    demo: async () => (await import('./commands/demo.ts')).registerDemo,
  },
  Watch: {
    sessions: async () => (await import('./commands/sessions.ts')).registerSessions,
    show: async () => (await import('./commands/show.ts')).registerShow,
    prompt: async () => (await import('./commands/prompt.ts')).registerPrompt,
    logs: async () => (await import('./commands/logs.ts')).registerLogs,
    why: async () => (await import('./commands/why.ts')).registerWhy,
    replay: async () => (await import('./commands/replay.ts')).registerReplay,
    reviews: async () => (await import('./commands/reviews.ts')).registerReviews,
  },
  Operate: {
    dev: async () => (await import('./commands/dev.ts')).registerDev,
    serve: async () => (await import('./commands/serve.ts')).registerServe,
    worker: async () => (await import('./commands/worker.ts')).registerWorker,
    fleet: async () => (await import('./commands/fleet.ts')).registerFleet,
    mcp: async () => (await import('./commands/mcp.ts')).registerMcp,
    store: async () => (await import('./commands/store.ts')).registerStore,
    token: async () => (await import('./commands/token.ts')).registerToken,
    doctor: async () => (await import('./commands/doctor.ts')).registerDoctor,
  },
};

/** The commands that a newcomer needs; `telltale help all` lists the others. */
const FIRST_COMMANDS: readonly string[] = ['init', 'run', 'chat', 'dev', 'serve', 'logs', 'resume', 'doctor'];

const GROUP_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(GROUPS).flatMap(([group, commands]) => Object.keys(commands).map((name) => [name, group])),
);

const COMMANDS: Readonly<Record<string, () => Promise<RegisterCommand>>> = {
  ...Object.assign({}, ...Object.values(GROUPS)),
  __complete: async () => (await import('./commands/complete.ts')).registerComplete,
};

/** It asks all other commands which options and arguments they take. */
const NEEDS_ALL = '__complete';

const VERSION: ReadonlySet<string> = new Set(['-V', '--version']);

/** Loads the command that a command line names, or all commands if it asks for help or names none. */
export async function commandsFor(argv: readonly string[]): Promise<readonly RegisterCommand[]> {
  const [name = ''] = argv;
  if (VERSION.has(name)) return [];
  const load = name !== NEEDS_ALL && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  return load === undefined ? Promise.all(Object.values(COMMANDS).map((each) => each())) : [await load()];
}
