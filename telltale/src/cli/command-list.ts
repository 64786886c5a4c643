import type { RegisterCommand } from './command.ts';

/**
 * Every command by group, in the order of the help page, and where it is: only the one that is called is loaded. A new
 * one is a file in `commands/` and a line here.
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

/** What a newcomer needs; `telltale help all` lists the rest. */
export const FIRST_COMMANDS: readonly string[] = [
  'init',
  'run',
  'chat',
  'dev',
  'serve',
  'logs',
  'resume',
  'doctor',
];

/** The group of each command. */
export const GROUP_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(GROUPS).flatMap(([group, commands]) => Object.keys(commands).map((name) => [name, group])),
);

const COMMANDS: Readonly<Record<string, () => Promise<RegisterCommand>>> = {
  ...Object.assign({}, ...Object.values(GROUPS)),
  __complete: async () => (await import('./commands/complete.ts')).registerComplete,
};

/** It asks all the others what they take. */
const NEEDS_ALL = '__complete';

const VERSION: ReadonlySet<string> = new Set(['-V', '--version']);

/** What a command line needs: the command that it names first, or all of them where it asks for help or names none. */
export async function commandsFor(argv: readonly string[]): Promise<readonly RegisterCommand[]> {
  const [name = ''] = argv;
  if (VERSION.has(name)) return [];
  const load = name !== NEEDS_ALL && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  return load === undefined ? Promise.all(Object.values(COMMANDS).map((each) => each())) : [await load()];
}
