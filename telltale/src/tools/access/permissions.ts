import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { type Decision, mayAsk, named, restOf } from '../../manifest/permission-rules.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Rules } from '../../manifest/schema/permissions.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import type { CommandLimits } from '../process/sandbox-limits.ts';
import { programName, withInnerCommands } from './inner-commands.ts';
import { createPermittedHosts, type PermittedHosts } from './permitted-hosts.ts';
import { createPermittedPaths, type PermittedPaths } from './permitted-paths.ts';
import type { ProtectedPaths } from './protected-paths.ts';
import { parseShellLine, type ShellCommand } from './shell-line.ts';

/**
 * What the agent's manifest lets its actions touch. Every check here throws `not_permitted` with a hint on how to allow
 * it.
 */
export interface Permissions {
  readonly paths: PermittedPaths;
  /** Where configuration and code are loaded from. Agents may read these locations but not write to them. */
  readonly protectedPaths: ProtectedPaths;
  readonly hosts: PermittedHosts;
  readonly commands: PermittedCommands;
  /** Where the agent may write manifests and modules after a person has approved the change. */
  readonly manifests: readonly string[];
  /** Whether a command is refused if an approval cannot cover all the files it runs. */
  readonly isStrict: boolean;
  readonly sandbox: AgentManifest['permissions']['sandbox'];
  /** The limits of each command in the sandbox. */
  readonly limits: CommandLimits;
  /** Names of the environment variables that commands see. */
  readonly environment: readonly string[];
}

const DEFAULT_PROCESSES = 1_024;
const DEFAULT_MEMORY = '4G';

/**
 * `folder` is the agent's folder. `commands` says how command lines are read and where programs are. `own` lists what
 * no agent may touch.
 */
export function createPermissions(
  { paths, network, shell, approval, sandbox, limits, environment, manifests }: AgentManifest['permissions'],
  folder: string,
  commands: CommandSyntax,
  { own, closed }: { readonly own: PermittedPaths['runtimePaths']; readonly closed: ProtectedPaths },
): Permissions {
  return {
    paths: createPermittedPaths(folder, paths, own),
    protectedPaths: closed,
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

/** Reads `512M` or `4G`. */
const bytesOf = (size: string): number => Number(size.slice(0, -1)) * 1024 ** (size.endsWith('G') ? 3 : 2);

/** Checks command lines of the tool `shell` against `permissions.shell`. */
export interface PermittedCommands {
  /** Whether a person may have to be asked. */
  readonly asks: boolean;
  /** Whether every line is allowed without asking. */
  readonly any: boolean;
  /**
   * Throws `not_permitted` for a denied line, and for one that needs approval and is not among `granted`. `cwd` is
   * where the line runs: a program given by a relative path is looked up there.
   */
  check(line: string, granted?: readonly string[], cwd?: string): void;
  /** The grant that an approval of the line gives. Undefined if no approval is needed. Throws if the line is denied. */
  grantFor(line: string, cwd?: string): string | undefined;
}

export interface CommandSyntax {
  /** Whether lines can be parsed by `readShellLine`: true for sh, false for cmd on Windows. */
  readonly readsLines: boolean;
  /** Whether the system ignores case in program names. */
  readonly ignoresCase?: boolean;
  /** Where programs are looked for. */
  readonly path?: string | undefined;
  /** The folder of lines that do not set their own. */
  readonly folder?: string;
}

export function createPermittedCommands(rules: Rules, place: CommandSyntax): PermittedCommands {
  const [allow, ask, deny] = [named(rules.allow), named(rules.ask), named(rules.deny)];
  const rest = restOf(rules);
  const isListed = allow.length + ask.length + deny.length > 0;
  const fold = (text: string) => (place.ignoresCase === true ? text.toLowerCase() : text);

  const judge = (line: string, cwd: string | undefined): Decision => {
    if (!isListed) return rest;
    const words = place.readsLines ? parsePlainCommand(line) : undefined;
    const found = commandsIn(line, words, place.readsLines);
    const spelled = allSpellings(found.commands, cwd, place);
    const names = (patterns: readonly string[]) =>
      patterns.some((pattern) =>
        withRealProgram(pattern).some((each) =>
          spelled.some((spelling) => matchesCommand(fold(each), spelling.map(fold))),
        ),
      );
    if (names(deny)) return 'deny';
    // If a line is more than one plain command, no pattern describes all of it, so no pattern allows it.
    if (words === undefined) return rest === 'deny' ? 'deny' : 'ask';
    if (names(ask)) return 'ask';
    const decision = allow.some((pattern) => allows(pattern, words)) ? 'allow' : rest;
    // An inner command that cannot be read may be a denied one.
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
    // A line with several commands needs approval even if no list says `ask`.
    asks: mayAsk(rules) || (isListed && rest !== 'deny'),
    check(line, granted = [], cwd = place.folder) {
      if (decided(line, cwd) === 'ask' && !granted.includes(commandGrant(line)))
        throw commandNotApproved(line);
    },
    grantFor: (line, cwd = place.folder) => (decided(line, cwd) === 'ask' ? commandGrant(line) : undefined),
  };
}

/** A path may lead to any program of that name, so a pattern with a bare name does not allow it. */
function allows(pattern: string, words: readonly string[]): boolean {
  const [program = ''] = pattern.trim().split(/\s+/);
  if (/[\\/]/.test(words[0] ?? '') && !/[\\/]/.test(program)) return false;
  return matchesCommand(pattern, words);
}

/** All commands a line may run: its own, those they run in turn, and a rough reading of a line that is not plain. */
function commandsIn(line: string, words: readonly string[] | undefined, readsLines: boolean) {
  const own: ShellCommand[] = readsLines ? [...parseShellLine(line).commands] : [];
  if (words === undefined)
    for (const rough of roughCommands(readsLines ? line : line.replaceAll('^', '').replaceAll('\\', '/')))
      own.push({
        words: rough.map((text) => ({ text, isLiteral: true })),
        variables: [],
        inputs: [],
        outputs: [],
      });
  const all = own.map(withInnerCommands);
  return {
    commands: all.flatMap(({ commands }) => commands),
    unread: all.flatMap(({ unparsed: unread }) => unread),
  };
}

/** The words of each command, once for each name of its program. */
function allSpellings(
  commands: readonly ShellCommand[],
  cwd: string | undefined,
  place: CommandSyntax,
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
    return false; // it does not exist or cannot be reached, so it cannot be run either
  }
}

/** All names of a program: as written, the last part of its path, and the same for every link on the way to it. */
function programNames(
  program: string,
  folders: readonly string[],
  { path }: CommandSyntax,
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

/** A pattern with a program's path stands for that file, by whatever path it is called. */
function withRealProgram(pattern: string): readonly string[] {
  const [program = '', ...rest] = pattern.trim().split(/\s+/);
  if (!isAbsolute(program) || program.includes('*')) return [pattern];
  try {
    return [pattern, [realpathSync(program), ...rest].join(' ')];
  } catch {
    return [pattern]; // it does not exist, so no link leads to it
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

const commandNotApproved = (line: string) =>
  new RuntimeError(
    'not_permitted',
    `The command "${clip(line, 200)}" needs approval, but nobody could be asked.`,
    { hint: 'This is set in "permissions: { shell }" of the agent\'s manifest.' },
  );

/** Characters that a shell does not read as part of a word. */
const SPECIAL = /[;&|<>()$`\\*?[\]{}~!#]|\p{Cc}/u;
/** The same inside double quotes. */
const SPECIAL_QUOTED = /[$`\\!]|(?!\t)\p{Cc}/u;

/**
 * The words of an sh command line that is one command with plain arguments. Undefined for everything else: a second
 * command, a redirection, a substitution, a wildcard, or a leading variable assignment.
 */
export function parsePlainCommand(line: string): readonly string[] | undefined {
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

/** Roughly splits a line into what may be commands of their own. Good enough to refuse a line, never to allow one. */
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
 * Whether a pattern matches a command. Words are compared one by one. `*` inside a word matches any of its characters.
 * A final `*` matches any number of further words.
 */
export function matchesCommand(pattern: string, words: readonly string[]): boolean {
  const wanted = pattern.trim().split(/\s+/);
  const isOpen = wanted.at(-1) === '*';
  const own = isOpen ? wanted.slice(0, -1) : wanted;
  if (isOpen ? words.length < own.length : words.length !== own.length) return false;
  return own.every((each, at) => matchesWord(each, words[at] ?? ''));
}

/** Finds the parts between the stars in order. */
function matchesWord(pattern: string, word: string): boolean {
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

/** Explains why an agent may not read or write decision artifacts. Undefined if it may. */
export const refuseArtifacts = (
  { artifacts }: AgentManifest['permissions'],
  use: 'read' | 'write',
): RuntimeError | undefined => (artifacts.includes(use) ? undefined : artifactsDenied(use));

const artifactsDenied = (use: 'read' | 'write') =>
  new RuntimeError('not_permitted', `This agent is not allowed to ${use} artifacts.`, {
    hint: `Add "${use}" to "permissions: { artifacts }" of its manifest.`,
  });
