import type { RegisterCommand } from './command.ts';

/** Every command, in the order of the help page. A new one is a file in `commands/` and a line here. */
export const COMMANDS: readonly RegisterCommand[] = [];
