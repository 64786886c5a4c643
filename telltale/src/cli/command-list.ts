import type { RegisterCommand } from './command.ts';

/**
 * Every command, in the order of the help page, and where it is: only the one that is called is loaded. A new one is a
 * file in `commands/` and a line here.
 */
const COMMANDS: Readonly<Record<string, () => Promise<RegisterCommand>>> = {
  init: async () => (await import('./commands/init.ts')).registerInit,
  run: async () => (await import('./commands/run.ts')).registerRun,
  chat: async () => (await import('./commands/chat.ts')).registerChat,
  dev: async () => (await import('./commands/dev.ts')).registerDev,
  serve: async () => (await import('./commands/serve.ts')).registerServe,
  worker: async () => (await import('./commands/worker.ts')).registerWorker,
  fleet: async () => (await import('./commands/fleet.ts')).registerFleet,
  resume: async () => (await import('./commands/resume.ts')).registerResume,
  sessions: async () => (await import('./commands/sessions.ts')).registerSessions,
  show: async () => (await import('./commands/show.ts')).registerShow,
  logs: async () => (await import('./commands/logs.ts')).registerLogs,
  prompt: async () => (await import('./commands/prompt.ts')).registerPrompt,
  why: async () => (await import('./commands/why.ts')).registerWhy,
  replay: async () => (await import('./commands/replay.ts')).registerReplay,
  fork: async () => (await import('./commands/fork.ts')).registerFork,
  steer: async () => (await import('./commands/steer.ts')).registerSteer,
  cancel: async () => (await import('./commands/cancel.ts')).registerCancel,
  reviews: async () => (await import('./commands/reviews.ts')).registerReviews,
  workflow: async () => (await import('./commands/workflow.ts')).registerWorkflow,
  artifact: async () => (await import('./commands/artifact.ts')).registerArtifact,
  feeds: async () => (await import('./commands/feeds.ts')).registerFeeds,
  memory: async () => (await import('./commands/memory.ts')).registerMemory,
  store: async () => (await import('./commands/store.ts')).registerStore,
  token: async () => (await import('./commands/token.ts')).registerToken,
  mcp: async () => (await import('./commands/mcp.ts')).registerMcp,
  inspect: async () => (await import('./commands/inspect.ts')).registerInspect,
  validate: async () => (await import('./commands/validate.ts')).registerValidate,
  schema: async () => (await import('./commands/schema.ts')).registerSchema,
  graph: async () => (await import('./commands/graph.ts')).registerGraph,
  parse: async () => (await import('./commands/parse.ts')).registerParse,
  import: async () => (await import('./commands/import.ts')).registerImport,
  doctor: async () => (await import('./commands/doctor.ts')).registerDoctor,
  demo: async () => (await import('./commands/demo.ts')).registerDemo,
  completion: async () => (await import('./commands/completion.ts')).registerCompletion,
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
