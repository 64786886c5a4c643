import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { type Decision, mayAsk, named, restOf } from '../../manifest/permissions/decide.ts';
import type { Rules } from '../../manifest/schema/permissions.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { programName, unwrapped } from './inner-commands.ts';
import { readShellLine, type ShellCommand } from './shell-line.ts';
import { namesCommand, roughCommands, simpleCommand } from './simple-command.ts';

/** Command lines of the tool `shell`, by `permissions.shell`. */
export interface PermittedCommands {
  /** Whether a person may have to be asked. */
  readonly asks: boolean;
  /** Whether every line is allowed without asking. */
  readonly any: boolean;
  /**
   * Throws `not_permitted` for a line that is denied, and for one that has to be asked for and is not among `granted`.
   * `cwd` is where the line runs: a program that is given by a relative path is looked for there.
   */
  check(line: string, granted?: readonly string[], cwd?: string): void;
  /** What an approval of the line has to be for; undefined where none is needed. Throws where it is denied. */
  grantFor(line: string, cwd?: string): string | undefined;
}

export interface CommandsPlace {
  /** Whether lines are such as `readShellLine` reads: those for sh are, those for Windows' cmd are not. */
  readonly readsLines: boolean;
  /** Whether the system finds a program whose name is written in other case. */
  readonly ignoresCase?: boolean;
  /** Where programs are looked for. */
  readonly path?: string | undefined;
  /** Where lines run that do not say where. */
  readonly folder?: string;
}

export function createPermittedCommands(rules: Rules, place: CommandsPlace): PermittedCommands {
  const [allow, ask, deny] = [named(rules.allow), named(rules.ask), named(rules.deny)];
  const rest = restOf(rules);
  const isListed = allow.length + ask.length + deny.length > 0;
  const fold = (text: string) => (place.ignoresCase === true ? text.toLowerCase() : text);

  const judge = (line: string, cwd: string | undefined): Decision => {
    if (!isListed) return rest;
    const words = place.readsLines ? simpleCommand(line) : undefined;
    const found = commandsIn(line, words, place.readsLines);
    const spelled = allSpellings(found.commands, cwd, place);
    const names = (patterns: readonly string[]) =>
      patterns.some((pattern) =>
        withRealProgram(pattern).some((each) =>
          spelled.some((spelling) => namesCommand(fold(each), spelling.map(fold))),
        ),
      );
    if (names(deny)) return 'deny';
    // Patterns say nothing of the rest of a line that is more than one plain command, so none allows it.
    if (words === undefined) return rest === 'deny' ? 'deny' : 'ask';
    if (names(ask)) return 'ask';
    const decision = allow.some((pattern) => allows(pattern, words)) ? 'allow' : rest;
    // A command inside of this one may be a denied one, and cannot be read.
    const mayHide = found.unread.length > 0 && deny.length + ask.length > 0;
    return decision === 'allow' && mayHide ? 'ask' : decision;
  };

  const decided = (line: string, cwd: string | undefined): Decision => {
    const decision = judge(line, cwd);
    if (decision === 'deny') throw isListed ? commandDenied(line) : shellDenied();
    return decision;
  };

  return {
    any: !isListed && rest === 'allow',
    // A line with more than one command in it is asked for even where no list says `ask`.
    asks: mayAsk(rules) || (isListed && rest !== 'deny'),
    check(line, granted = [], cwd = place.folder) {
      if (decided(line, cwd) === 'ask' && !granted.includes(commandGrant(line))) throw commandNotAsked(line);
    },
    grantFor: (line, cwd = place.folder) => (decided(line, cwd) === 'ask' ? commandGrant(line) : undefined),
  };
}

/** A program that is given by its path may be any program of that name: a pattern with a bare name does not allow it. */
function allows(pattern: string, words: readonly string[]): boolean {
  const [program = ''] = pattern.trim().split(/\s+/);
  if (/[\\/]/.test(words[0] ?? '') && !/[\\/]/.test(program)) return false;
  return namesCommand(pattern, words);
}

/** All commands that a line may run: its own, those they run in turn, and for a line that is not plain a rough reading. */
function commandsIn(line: string, words: readonly string[] | undefined, readsLines: boolean) {
  const own: ShellCommand[] = readsLines ? [...readShellLine(line).commands] : [];
  if (words === undefined)
    for (const rough of roughCommands(readsLines ? line : line.replaceAll('^', '').replaceAll('\\', '/')))
      own.push({
        words: rough.map((text) => ({ text, known: true })),
        variables: [],
        inputs: [],
        outputs: [],
      });
  const all = own.map(unwrapped);
  return {
    commands: all.flatMap(({ commands }) => commands),
    unread: all.flatMap(({ unread }) => unread),
  };
}

/** The words of each command, once for each name that its program goes by. */
function allSpellings(
  commands: readonly ShellCommand[],
  cwd: string | undefined,
  place: CommandsPlace,
): readonly (readonly string[])[] {
  const folders = cwd === undefined ? [] : [cwd];
  for (const { words } of commands) {
    const [program, to] = words;
    if (cwd !== undefined && program?.text === 'cd' && to !== undefined)
      folders.push(...folders.map((folder) => resolve(folder, to.text)));
    if (folders.length > MAX_FOLDERS) break;
  }
  return commands.flatMap(({ words }) => {
    const [program, ...args] = words.map(({ text }) => text);
    if (program === undefined) return [];
    return [...programNames(program, folders, place)].map((name) => [name, ...args]);
  });
}

const MAX_FOLDERS = 64;
const MAX_LINKS = 40;
const MAX_NAME = 4_096;

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false; // it is not there, or cannot be reached: then it cannot be run, either
  }
}

/** The names of a program: as it is written, the last part of its path, and the same of every link on the way to it. */
function programNames(
  program: string,
  folders: readonly string[],
  { path }: CommandsPlace,
): ReadonlySet<string> {
  const names = new Set([program, programName(program)]);
  const places = /[\\/]/.test(program)
    ? folders.map((folder) => resolve(folder, program))
    : (path ?? '').split(delimiter).flatMap((folder) => (isAbsolute(folder) ? [join(folder, program)] : []));
  if (program.includes('\0') || program.length > MAX_NAME) return names;
  for (const first of places) {
    if (!isFile(first)) continue;
    let at = first;
    for (let links = 0; links < MAX_LINKS; links++) {
      names.add(at).add(programName(at));
      if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() !== true) break;
      at = resolve(dirname(at), readlinkSync(at));
    }
    const real = realpathSync(first);
    names.add(real).add(programName(real));
    if (!/[\\/]/.test(program)) break; // the first on PATH is the one that runs
  }
  return names;
}

/** A pattern that gives its program by a path stands for that file, under whatever path. */
function withRealProgram(pattern: string): readonly string[] {
  const [program = '', ...rest] = pattern.trim().split(/\s+/);
  if (!isAbsolute(program) || program.includes('*')) return [pattern];
  try {
    return [pattern, [realpathSync(program), ...rest].join(' ')];
  } catch {
    return [pattern]; // it is not there, so no link leads to it
  }
}

const commandGrant = (line: string): string => `shell ${line}`;

const shellDenied = () =>
  new RuntimeError('not_permitted', 'This agent is not allowed to run shell commands.', {
    hint: 'The agent\'s manifest has "permissions: { shell: deny }". "ask" or "allow" permits them.',
  });

const commandDenied = (line: string) =>
  new RuntimeError('not_permitted', `This agent is not allowed to run the command "${clip(line, 200)}".`, {
    hint: 'This is set in "permissions: { shell }" of the agent\'s manifest.',
  });

const commandNotAsked = (line: string) =>
  new RuntimeError(
    'not_permitted',
    `The command "${clip(line, 200)}" needs approval, but nobody could be asked.`,
    { hint: 'This is set in "permissions: { shell }" of the agent\'s manifest.' },
  );
