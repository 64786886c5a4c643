import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { ErrorJson } from '../../lib/errors.ts';
import type { Io } from '../io.ts';
import { shellWord, usage } from '../options.ts';

/** Every command with `--store`, and its subcommands that have it. */
const TAKING: Readonly<Record<string, readonly string[]>> = {
  run: [],
  chat: [],
  dev: [],
  serve: [],
  worker: [],
  fleet: ['retry'],
  resume: [],
  sessions: [],
  show: [],
  logs: [],
  prompt: [],
  why: [],
  replay: [],
  fork: [],
  steer: [],
  cancel: [],
  reviews: ['show', 'approve', 'reject', 'answer'],
  workflow: ['run', 'list', 'show', 'logs', 'resume', 'cancel', 'signal'],
  artifact: ['list', 'show', 'rollback'],
  feeds: [],
  memory: ['index', 'query', 'stats'],
  store: ['info', 'check', 'prune', 'export', 'import'],
  token: ['create', 'list', 'revoke'],
  mcp: ['rotate-key'],
};
/** Subcommands with no store or with two. Text that begins with their names is not changed. */
const OTHERS: Readonly<Record<string, readonly string[]>> = { store: ['copy'], artifact: ['test'] };

const NAMES = Object.entries(TAKING).map(([name, subcommands]) => {
  const others = OTHERS[name] ?? [];
  const not = others.length === 0 ? '' : String.raw`(?! (?:${others.join('|')})\b)`;
  return subcommands.length === 0 ? name : `${name}${not}(?: (?:${subcommands.join('|')}))?`;
});
/** The commands without a store. Completion only works for a program called `telltale`. */
const WITHOUT_STORE = [
  'help',
  'init',
  'validate',
  'inspect',
  'schema',
  'graph',
  'parse',
  'import',
  'demo',
  'test',
  'doctor',
];
/** Arguments that may follow the names. The option goes after them, as people write commands. */
const ARGUMENTS = [
  String.raw`(?:ses|rev|run)_\w+(?:[.~][\w[\]-]+)*`,
  '[A-Z]{2,}',
  String.raw`[\w@./-]*\.ya?ml`,
  '--resume',
  'last',
  '--(?:status|of) [a-z]+',
  // A name, without the full stop that ends the sentence.
  String.raw`(?<=(?:revoke|artifact show) )[\w@.-]*[\w@-]`,
];
/** Not part of a path, because a folder may be called `telltale dev`. A quoted command must stay as it is. */
const PROGRAM = String.raw`(?<![\w/\\.'-])telltale `;
const COMMAND = new RegExp(
  String.raw`${PROGRAM}(?:${NAMES.join('|')})(?![\w/\\-])(?: (?:${ARGUMENTS.join('|')})(?![\w-]))*`,
  'g',
);
/** The rest of the sentence, or up to the next command, already contains the option or needs none. */
const NAMED = new RegExp(String.raw`^(?:(?![.,;](?:\s|$)|${PROGRAM}).)*? --(?:store|help)\b`, 's');

/**
 * Inserts ` --store X` (`flag`) into every command of a hint that would otherwise read another store. A command that
 * names a store keeps it.
 */
export const namingStore = (hint: string, flag: string): string =>
  flag === ''
    ? hint
    : hint.replace(COMMAND, (command, at: number) =>
        NAMED.test(hint.slice(at + command.length)) ? command : `${command}${flag}`,
      );

/** The program's name before a command or an option. A name after `npx` is already complete. */
const CALL = new RegExp(
  String.raw`(?<!\b(?:npx|exec|yarn|bunx) )${PROGRAM}(?=--?[a-z]|(?:${[...Object.keys(TAKING), ...WITHOUT_STORE].join('|')})(?![\w/\\-]))`,
  'g',
);

/**
 * Rewrites our text for the person who typed the command: each command in it starts the way they typed it and names the
 * same store. Texts for a log, a model or an HTTP client keep `telltale`.
 */
export const asTyped = (text: string, { program }: Pick<Io, 'program'>, flag = ''): string => {
  const named = namingStore(text, flag);
  if (program === 'telltale') return named;
  // npm prints two lines first, which must not go into a pipe.
  const silent = program.replace(/^npm /, 'npm -s ');
  return named
    .split('\n')
    .map((line) => line.replace(CALL, () => `${IS_PIPED.test(line) ? silent : program} `))
    .join('\n');
};

/** An event as a view prints it: the hints of its error contain commands that the person can type. */
export function eventAsTyped<E extends object>(event: E, io: Pick<Io, 'program'>, flag?: string): E {
  const { error, event: copied } = event as { readonly error?: ErrorJson; readonly event?: object };
  if (error !== undefined) return { ...event, error: errorAsTyped(error, io, flag) };
  // A copied event of a sub-agent contains the original event.
  return typeof copied === 'object' ? { ...event, event: eventAsTyped(copied, io, flag) } : event;
}

function errorAsTyped(error: ErrorJson, io: Pick<Io, 'program'>, flag?: string): ErrorJson {
  const { hint, cause } = error;
  return {
    ...error,
    ...(hint === undefined ? {} : { hint: asTyped(hint, io, flag) }),
    ...(cause === undefined ? {} : { cause: errorAsTyped(cause, io, flag) }),
  };
}

const IS_PIPED = / \| | > |\$\(/;

/** ` --store X` from a command line, if it has one. If there are several, the last one counts. */
export function storeFlagIn(argv: readonly string[]): string {
  const end = argv.indexOf('--');
  const words = end === -1 ? argv : argv.slice(0, end);
  const at = words.findLastIndex((word) => word === OPTION || word.startsWith(`${OPTION}=`));
  return storeFlag(words[at] === OPTION ? words[at + 1] : words[at]?.slice(OPTION.length + 1));
}

const OPTION = '--store';

const DEFAULT = 'sqlite:.telltale/telltale.db';
const MEMORY = 'memory';
const SQLITE = 'sqlite:';
/** A scheme has at least two letters: `C:\x` is a path. */
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;

/**
 * The location of the store: `--store`, or TELLTALE_STORE, or a file in the current folder. A bare path means SQLite.
 */
export function storeLocation(option: string | undefined, { env }: Pick<Io, 'env'>): string {
  if (option === '') throw usage('--store names no store.', 'Write --store ./telltale.db, or leave it out.');
  const asked = option ?? (env.TELLTALE_STORE || DEFAULT);
  return asked === MEMORY || SCHEME.test(asked) ? asked : `${SQLITE}${asked}`;
}

export const isInMemory = (location: string): boolean => location === MEMORY;

/**
 * Whether the store may contain anything, so that reading does not create a file. One that may not be read is opened,
 * and the error says why.
 */
export function storeExists(location: string, { cwd }: Pick<Io, 'cwd'>): boolean {
  if (isInMemory(location)) return false;
  if (!location.startsWith(SQLITE)) return true;
  try {
    return statSync(resolve(cwd, location.slice(SQLITE.length)), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** Whether only this machine can use it. */
export const isOfOneMachine = (location: string): boolean =>
  isInMemory(location) || location.startsWith(SQLITE);

/** Whether several machines can share it. */
export const isDatabase = (location: string): boolean => /^postgres(?:ql)?:/i.test(location);

/** Without the password of a database. */
export const shownLocation = (location: string): string =>
  location.replace(/^([a-z]+:\/\/[^:/?#]*):[^@]*@/i, '$1@');

/** The option that a command needs to use this store. Empty for the default store. */
export function storeFlag(option: string | undefined): string {
  return option === undefined ? '' : ` --store ${shellWord(shownLocation(option))}`;
}

export interface StoreOption {
  readonly store?: string;
}

export const addStoreOption = (command: Command): Command =>
  command.option(
    '--store <path>',
    'the store with the sessions: a file, postgres://…, or "memory" (default: TELLTALE_STORE, else .telltale/telltale.db)',
  );

export const durabilityOption = (): Option =>
  new Option('--durability <level>', 'what the log survives: a power failure or a killed process').choices([
    'power',
    'process',
  ]);
