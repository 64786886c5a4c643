import type { Command, CommanderError } from 'commander';
import { RuntimeError } from '../lib/errors.ts';
import { suggest } from '../lib/nearest.ts';

/** Parses a whole number from a command line. It must be `least` or more. */
export function wholeNumber(name: string, text: string, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw usage(
    `${name} '${text}' is not a whole number of at least ${least}.`,
    `Write ${name} ${Math.max(least, 3)}, say.`,
  );
}

/** Error codes that mean an unusable command line or manifest: `main` exits with 2. */
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

/**
 * Turns commander's one-line message into a RuntimeError. Commander quotes the argument and puts its suggestion in
 * parentheses.
 */
export function usageOf(error: CommanderError, helpCommand: string): RuntimeError {
  // With one argument too many, the quoted command name is not the mistake, so no caret should point at it.
  const isTooMany = error.code === 'commander.excessArguments';
  const told = isTooMany ? error.message.replace(/ for '([^']*)'/, ' for "$1"') : error.message;
  const [first = '', ...rest] = told.replace(/^error: /, '').split('\n');
  const suggestion = rest.join(' ').replace(/^\(|\)$/g, '');
  const message = first.charAt(0).toUpperCase() + first.slice(1).replace(/\.$/, '');
  const help =
    helpCommand === 'telltale'
      ? 'To see all commands: telltale help all'
      : `Run "${helpCommand} --help" for its options.`;
  const remedy = isTooMany ? `Put quotes around a text of several words. ${help}` : help;
  return usage(`${message}.`, suggestion === '' ? remedy : suggestion);
}

/** A password in a database address, also in `--store=ADDRESS`. It is removed because errors end up in logs. */
const PASSWORD = /(\bpostgres(?:ql)?:\/\/[^:/?#@]*):[^@]*@|([?&]password=)[^&]*/gi;
const withoutPassword = (argument: string): string =>
  argument.replace(PASSWORD, (_, user?: string, key?: string) =>
    user === undefined ? `${key}***` : `${user}:***@`,
  );

/** The command line as typed, without passwords, and a caret under the first argument that the message quotes. */
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

/** Parses the port in an option. Port 0 means any free port. */
export function portOption(option: string, text: string): number {
  if (/^\d+$/.test(text) && Number(text) <= MAX_PORT) return Number(text);
  throw usage(
    `${option} '${text}' is not a port.`,
    `Write a number up to ${MAX_PORT}, or 0 for any free port.`,
  );
}

/** Commander gives options that precede the subcommand to the parent command. The user meant them all the same. */
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
