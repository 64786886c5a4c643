import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { type Decision, mayAsk, named, restOf } from '../../manifest/permission-rules.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Rules } from '../../manifest/schema/permissions.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import type { CommandLimits } from '../process/sandbox-limits.ts';
import type { ClosedLocations } from './closed-locations.ts';
import { programName, unwrapped } from './inner-commands.ts';
import { createPermittedHosts, type PermittedHosts } from './permitted-hosts.ts';
import { createPermittedPaths, type PermittedPaths } from './permitted-paths.ts';
import { readShellLine, type ShellCommand } from './shell-line.ts';

/** What the agent's manifest lets its actions touch. Everything here refuses with `not_permitted` and its remedy. */
export interface Permissions {
  readonly paths: PermittedPaths;
  /** Where configuration and code are loaded from: to be read, and not written. */
  readonly closed: ClosedLocations;
  readonly hosts: PermittedHosts;
  readonly commands: PermittedCommands;
  /** Where the agent may write manifests and modules once a person has approved the change. */
  readonly manifests: readonly string[];
  /** Whether a command is refused where an approval cannot cover all that it runs. */
  readonly isStrict: boolean;
  readonly sandbox: AgentManifest['permissions']['sandbox'];
  /** Of each command in the sandbox. */
  readonly limits: CommandLimits;
  /** Names of environment variables that are in view. */
  readonly environment: readonly string[];
}

const DEFAULT_PROCESSES = 1_024;
const DEFAULT_MEMORY = '4G';

/**
 * `folder` is the agent's; `commands`: how command lines are read, and where programs are; `own`: what no agent may
 * touch.
 */
export function createPermissions(
  { paths, network, shell, approval, sandbox, limits, environment, manifests }: AgentManifest['permissions'],
  folder: string,
  commands: CommandsPlace,
  { own, closed }: { readonly own: PermittedPaths['own']; readonly closed: ClosedLocations },
): Permissions {
  return {
    paths: createPermittedPaths(folder, paths, own),
    closed,
    hosts: createPermittedHosts(network),
    commands: createPermittedCommands(shell, { folder, ...commands }),
    manifests,
    isStrict: approval === 'strict',
    sandbox,
    limits: {
      processes: limits?.processes ?? DEFAULT_PROCESSES,
      memoryBytes: bytesOf(limits?.memory ?? DEFAULT_MEMORY),
    },
    environment,
  };
}

/** `512M`, `4G`. */
const bytesOf = (size: string): number => Number(size.slice(0, -1)) * 1024 ** (size.endsWith('G') ? 3 : 2);

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

/** What a shell reads as anything but the letters of a word. */
const SPECIAL = /[;&|<>()$`\\*?[\]{}~!#]|\p{Cc}/u;
/** The same between double quotes. */
const SPECIAL_QUOTED = /[$`\\!]|(?!\t)\p{Cc}/u;

/**
 * The words of a command line for sh that is one command with plain arguments; undefined for everything else: a second
 * command, a redirection, a substitution, a wildcard, a variable set in front of it.
 */
export function simpleCommand(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; at++) {
    const letter = line.charAt(at);
    if (letter === ' ' || letter === '\t') {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    if (letter !== '"' && letter !== "'") {
      if (SPECIAL.test(letter)) return undefined;
      word = (word ?? '') + letter;
      continue;
    }
    const end = line.indexOf(letter, at + 1);
    if (end === -1) return undefined;
    const quoted = line.slice(at + 1, end);
    if (letter === '"' ? SPECIAL_QUOTED.test(quoted) : /[\0\n\r]/.test(quoted)) return undefined;
    word = (word ?? '') + quoted;
    at = end;
  }
  if (word !== undefined) words.push(word);
  const [program] = words;
  return program === undefined || program === '' || program.includes('=') ? undefined : words;
}

/** What may be commands of their own in a line that is more than one: only good for refusing. */
const roughCommands = (line: string): readonly (readonly string[])[] =>
  line
    .split(/[;&|<>()$`{}\n\r]+/)
    .map((part) =>
      part
        .replace(/["'\\]/g, '')
        .split(/\s+/)
        .filter((word) => word !== '' && !/^[A-Za-z_]\w*=/.test(word)),
    )
    .filter((words) => words.length > 0);

/**
 * Whether a pattern names a command. Words are compared one by one, `*` in a word stands for any of its characters;
 * a last word that is `*` stands for any further words, and for none.
 */
export function namesCommand(pattern: string, words: readonly string[]): boolean {
  const wanted = pattern.trim().split(/\s+/);
  const isOpen = wanted.at(-1) === '*';
  const own = isOpen ? wanted.slice(0, -1) : wanted;
  if (isOpen ? words.length < own.length : words.length !== own.length) return false;
  return own.every((each, at) => namesWord(each, words[at] ?? ''));
}

/** The parts between the stars, in order. */
function namesWord(pattern: string, word: string): boolean {
  const parts = pattern.split('*');
  const [first = ''] = parts;
  const last = parts.at(-1) ?? '';
  if (parts.length === 1) return pattern === word;
  if (word.length < first.length + last.length || !word.startsWith(first) || !word.endsWith(last))
    return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = word.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= word.length - last.length;
}
