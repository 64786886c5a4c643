import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { ErrorJson } from '../../lib/errors.ts';
import type { Io } from '../io.ts';
import { shellWord, usage } from '../options.ts';

/** Every command that takes `--store`, with those of its subcommands that do. */
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
/** Subcommands that take none, or two: what begins with their names is left as it is. */
const OTHERS: Readonly<Record<string, readonly string[]>> = { store: ['copy'], artifact: ['test'] };

const NAMES = Object.entries(TAKING).map(([name, subcommands]) => {
  const others = OTHERS[name] ?? [];
  const not = others.length === 0 ? '' : String.raw`(?! (?:${others.join('|')})\b)`;
  return subcommands.length === 0 ? name : `${name}${not}(?: (?:${subcommands.join('|')}))?`;
});
/** The other commands. Completion is of one that is called `telltale`, and of no other. */
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
/** What may stand behind the names and belongs in front of the option, so that a command reads as people write it. */
const ARGUMENTS = [
  String.raw`(?:ses|rev|run)_\w+(?:[.~][\w[\]-]+)*`,
  '[A-Z]{2,}',
  String.raw`[\w@./-]*\.ya?ml`,
  '--resume',
  '--(?:status|of) [a-z]+',
  // what has a name, which does not end with the sentence's full stop
  String.raw`(?<=(?:revoke|artifact show) )[\w@.-]*[\w@-]`,
];
/** Not in a path: a folder may be called `telltale dev`. One that a shell has to be told whole begins with a quote. */
const PROGRAM = String.raw`(?<![\w/\\.'-])telltale `;
const COMMAND = new RegExp(
  String.raw`${PROGRAM}(?:${NAMES.join('|')})(?![\w/\\-])(?: (?:${ARGUMENTS.join('|')})(?![\w-]))*`,
  'g',
);
/** The rest of a command has the option already, or needs none: it ends with its sentence, or where the next command begins. */
const NAMED = new RegExp(String.raw`^(?:(?![.,;](?:\s|$)|${PROGRAM}).)*? --(?:store|help)\b`, 's');

/**
 * What somebody is told to do, with ` --store X` (`flag`) in every command that would else look at another store. A
 * command that names one keeps it.
 */
export const namingStore = (hint: string, flag: string): string =>
  flag === ''
    ? hint
    : hint.replace(COMMAND, (command, at: number) =>
        NAMED.test(hint.slice(at + command.length)) ? command : `${command}${flag}`,
      );

/** The program's name in front of a command or an option. What stands behind `npx` is whole already. */
const CALL = new RegExp(
  String.raw`(?<!\b(?:npx|exec|yarn|bunx) )${PROGRAM}(?=--?[a-z]|(?:${[...Object.keys(TAKING), ...WITHOUT_STORE].join('|')})(?![\w/\\-]))`,
  'g',
);

/**
 * Text of ours for whoever typed the command: every command in it begins as that one did, and names the same store. Texts
 * for a log, a model or an HTTP client keep `telltale`.
 */
export const asTyped = (text: string, { program }: Pick<Io, 'program'>, flag = ''): string => {
  const named = namingStore(text, flag);
  if (program === 'telltale') return named;
  // npm prints two lines of its own first, which must not get into a pipe.
  const silent = program.replace(/^npm /, 'npm -s ');
  return named
    .split('\n')
    .map((line) => line.replace(CALL, () => `${IS_PIPED.test(line) ? silent : program} `))
    .join('\n');
};

/** An event from a log, as a view prints it: the hints of its error name the commands that a person types. */
export function eventAsTyped<E extends object>(event: E, io: Pick<Io, 'program'>, flag?: string): E {
  const { error, event: copied } = event as { readonly error?: ErrorJson; readonly event?: object };
  if (error !== undefined) return { ...event, error: errorAsTyped(error, io, flag) };
  // A copy of a sub-agent's event holds that event.
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

/** ` --store X` of a command line, where it has one: of several the last, as when it is read. */
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
/** A scheme has two letters at least: `C:\x` is a path. */
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;

/** Where sessions are kept: `--store`, else TELLTALE_STORE, else a file below the current folder. A bare path is SQLite's. */
export function storeLocation(option: string | undefined, { env }: Pick<Io, 'env'>): string {
  if (option === '') throw usage('--store names no store.', 'Write --store ./telltale.db, or leave it out.');
  const asked = option ?? (env.TELLTALE_STORE || DEFAULT);
  return asked === MEMORY || SCHEME.test(asked) ? asked : `${SQLITE}${asked}`;
}

export const isInMemory = (location: string): boolean => location === MEMORY;

/** Whether there can be something in it: a look must not make a file. One that may not be looked at is opened, to say why. */
export function storeExists(location: string, { cwd }: Pick<Io, 'cwd'>): boolean {
  if (isInMemory(location)) return false;
  if (!location.startsWith(SQLITE)) return true;
  try {
    return statSync(resolve(cwd, location.slice(SQLITE.length)), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** Whether no other machine can share it. */
export const isOfOneMachine = (location: string): boolean =>
  isInMemory(location) || location.startsWith(SQLITE);

/** Whether it is one that several machines share. */
export const isDatabase = (location: string): boolean => /^postgres(?:ql)?:/i.test(location);

/** As people may see it: without the password of a database. */
export const shownLocation = (location: string): string =>
  location.replace(/^([a-z]+:\/\/[^:/?#]*):[^@]*@/i, '$1@');

/** What a command that names this store has to be called with; nothing for the one that is taken anyway. */
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
