import type { RegisterCommand } from './command.ts';
import { registerCancel } from './commands/cancel.ts';
import { registerChat } from './commands/chat.ts';
import { registerDemo } from './commands/demo.ts';
import { registerFork } from './commands/fork.ts';
import { registerLogs } from './commands/logs.ts';
import { registerParse } from './commands/parse.ts';
import { registerReplay } from './commands/replay.ts';
import { registerResume } from './commands/resume.ts';
import { registerReviews } from './commands/reviews.ts';
import { registerRun } from './commands/run.ts';
import { registerSchema } from './commands/schema.ts';
import { registerSessions } from './commands/sessions.ts';
import { registerShow } from './commands/show.ts';
import { registerSteer } from './commands/steer.ts';
import { registerValidate } from './commands/validate.ts';
import { registerWhy } from './commands/why.ts';

/** Every command, in the order of the help page. A new one is a file in `commands/` and a line here. */
export const COMMANDS: readonly RegisterCommand[] = [
  registerRun,
  registerChat,
  registerResume,
  registerSessions,
  registerShow,
  registerLogs,
  registerWhy,
  registerReplay,
  registerFork,
  registerSteer,
  registerCancel,
  registerReviews,
  registerValidate,
  registerSchema,
  registerParse,
  registerDemo,
];
