import type { Command, CommanderError } from 'commander';
import { RuntimeError } from '../lib/errors.ts';
import { suggest } from '../lib/nearest.ts';

/** A number from a command line, at least `least`. */
export function wholeNumber(name: string, text: string, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw usage(
    `${name} '${text}' is not a whole number of at least ${least}.`,
    `Write ${name} ${Math.max(least, 3)}, say.`,
  );
}

/** A command line or a manifest that cannot be used: `main` ends with 2 on these codes. */
const USAGE_CODES: ReadonlySet<string> = new Set([
  'usage',
  'file_too_large',
  'bad_manifest',
  'no_agent',
  'no_workflow',
  'provider_unknown',
  'model_unknown',
  'store_unknown',
  'script_invalid',
  'file_missing',
  'not_a_file',
  'folder_missing',
  'not_a_folder',
  'not_indexed',
  'changes_undecided',
  'bad_decision',
]);
export const isUsage = (error: RuntimeError): boolean => USAGE_CODES.has(error.code);

export const usage = (message: string, hint: string) => new RuntimeError('usage', message, { hint });

/** commander's one-line message as an error of ours: it names the argument in quotes and suggests in brackets. */
export function usageOf(error: CommanderError, helpCommand: string): RuntimeError {
  // Where there is one argument too many, the command that is named is not what is wrong: no caret is to point at it.
  const isTooMany = error.code === 'commander.excessArguments';
  const told = isTooMany ? error.message.replace(/ for '([^']*)'/, ' for "$1"') : error.message;
  const [first = '', ...rest] = told.replace(/^error: /, '').split('\n');
  const suggestion = rest.join(' ').replace(/^\(|\)$/g, '');
  const message = first.charAt(0).toUpperCase() + first.slice(1).replace(/\.$/, '');
  const help = `Run "${helpCommand} --help" for its options.`;
  const remedy = isTooMany ? `Put quotes around a text of several words. ${help}` : help;
  return usage(`${message}.`, suggestion === '' ? remedy : suggestion);
}

/** A password in the address of a database, also in `--store=ADDRESS`: errors end up in logs. */
const PASSWORD = /(\bpostgres(?:ql)?:\/\/[^:/?#@]*):[^@]*@|([?&]password=)[^&]*/gi;
const withoutPassword = (argument: string): string =>
  argument.replace(PASSWORD, (_, user?: string, key?: string) =>
    user === undefined ? `${key}***` : `${user}:***@`,
  );

/** The command line as typed, but for passwords, and a caret under the first argument that the message quotes. */
export function underlineArgument(
  argv: readonly string[],
  message: string,
  program: string,
): readonly string[] {
  const words = [program, ...argv.map((argument) => shellWord(withoutPassword(argument)))];
  const at = argv.findIndex((argument) => message.includes(`'${argument}'`));
  const line = words.join(' ');
  if (at === -1) return [line];
  const from = words.slice(0, at + 1).join(' ').length + 1;
  return [line, ' '.repeat(from) + '^'.repeat(Math.max(1, words[at + 1]?.length ?? 1))];
}

export const shellWord = (argument: string) =>
  /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;

const MAX_PORT = 65_535;

/** The port that an option says; 0 is a free one. */
export function portOption(option: string, text: string): number {
  if (/^\d+$/.test(text) && Number(text) <= MAX_PORT) return Number(text);
  throw usage(
    `${option} '${text}' is not a port.`,
    `Write a number up to ${MAX_PORT}, or 0 for any free port.`,
  );
}

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
