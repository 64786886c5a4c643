import type { RegisterCommand } from './command.ts';
import { registerDemo } from './commands/demo.ts';
import { registerParse } from './commands/parse.ts';
import { registerSchema } from './commands/schema.ts';
import { registerValidate } from './commands/validate.ts';

/** Every command, in the order of the help page. A new one is a file in `commands/` and a line here. */
export const COMMANDS: readonly RegisterCommand[] = [
  registerValidate,
  registerSchema,
  registerParse,
  registerDemo,
];
