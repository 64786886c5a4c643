import type { Command } from 'commander';
import { suggest } from '../kernel/nearest.ts';
import { usage } from './usage.ts';

/** Options that stand before the subcommand are the parent's to commander, and the user's all the same. */
export interface WithOptions {
  optsWithGlobals<Options>(): Options;
}

export const noSubcommand = (asked: string, command: Command) =>
  usage(
    `'${asked}' is not a ${command.name()} command.`,
    suggest(
      asked,
      command.commands.map((each) => each.name()),
      'Commands',
    ),
  );
