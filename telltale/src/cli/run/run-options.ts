import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { StartOptions } from '../../agent/runtime-types.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Io } from '../io.ts';
import { usage, wholeNumber } from '../options.ts';
import { readText } from '../parse/read-text.ts';
import { startProgress } from '../progress.ts';
import { addStoreOption, durabilityOption } from '../session/store-options.ts';
import { addModeOptions } from './run-mode.ts';
import type { WorkOptions } from './work-session.ts';

export interface BeginOptions extends WorkOptions {
  readonly model?: string;
  readonly record?: string;
  readonly resume?: string;
  readonly var: readonly string[];
  readonly acceptChanges?: true;
}

/** The options that `run` and `chat` share: they start a session or continue one. */
export const addBeginOptions = (command: Command, resumeHelp: string): Command =>
  addWorkOptions(command)
    .option('--resume <session>', resumeHelp)
    .option('--accept-changes', 'with --resume: continue even if the manifest has changed')
    .addOption(
      new Option(
        '--var <name=value>',
        'set a variable (repeatable); the value is read as JSON if it is valid JSON, else as text',
      )
        .argParser(collect)
        .default([], 'none'),
    );

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** Turns the options into those of a new session. Refuses options that exclude each other. */
export function readBegin(options: BeginOptions, { cwd }: Pick<Io, 'cwd'>): Omit<StartOptions, 'input'> {
  const maxTurns = maxTurnsOf(options);
  const vars = readVars(options.var);
  if (options.resume !== undefined && options.var.length > 0)
    throw usage(
      "'--var' cannot change a session that has already started.",
      'Leave it out, or start a new session without --resume.',
    );
  if (options.acceptChanges && options.resume === undefined)
    throw usage("'--accept-changes' only works with --resume.", 'Leave it out.');
  return {
    ...(options.var.length === 0 ? {} : { vars }),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.record === undefined ? {} : { record: resolve(cwd, options.record) }),
    ...(maxTurns === undefined ? {} : { maxTurns }),
  };
}

/** The options that `run` and `resume` share. */
export const addWorkOptions = (command: Command): Command =>
  addStoreOption(addModeOptions(command))
    .option('--model <ref>', "use this model instead of the manifest's: provider/name, or scripted:FILE")
    .option('--record <file>', "write the model's turns to a file that scripted:FILE can play back")
    .option('--max-turns <n>', 'the most turns the session may take')
    .addOption(new Option('--debug <what>', 'also show each decision of an artifact').choices(['invoke']))
    .addOption(durabilityOption());

export const maxTurnsOf = ({ maxTurns }: WorkOptions): number | undefined =>
  maxTurns === undefined ? undefined : wholeNumber('--max-turns', maxTurns);

/**
 * The variables of `--var name=value`, each given once. A value that is valid JSON is parsed. Any other value is text.
 */
export function readVars(given: readonly string[]): JsonObject {
  const vars = new Map<string, Json>();
  for (const each of given) {
    const at = each.indexOf('=');
    const name = each.slice(0, Math.max(0, at));
    if (!/^[A-Za-z_][\w-]*$/.test(name))
      throw usage(`--var '${each}' is not name=value.`, 'Write --var count=3, or --var who=Ann.');
    if (vars.has(name)) throw usage(`--var '${each}' sets ${name} a second time.`, 'Give each name once.');
    vars.set(name, readValue(each.slice(at + 1)));
  }
  return Object.fromEntries(vars);
}

function readValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** More than any model's context window holds. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * The task for the agent: the argument, or standard input if that is `-` or if it is missing and something is piped in.
 * `remedy` says how to give a task if there is none.
 */
export async function readInput(argument: string | undefined, io: Io, remedy: string): Promise<string> {
  if (argument !== undefined && argument !== '-') {
    if (argument.trim() === '') throw usage('The input is empty.', remedy);
    return argument;
  }
  if (argument === undefined && io.stdin.isTerminal) throw usage('Tell the agent what to do.', remedy);
  if (io.stdin.isTerminal) await io.stderr.write('Reading from the terminal; end with Ctrl-D.\n');
  const stopProgress = io.stdin.isTerminal
    ? async () => {}
    : startProgress(io, () => 'Reading standard input…');
  try {
    let text = '';
    for await (const piece of readText('-', io)) {
      text += piece;
      if (text.length > MAX_CHARACTERS) throw inputTooLong();
    }
    if (text.trim() === '') throw usage('Standard input is empty.', remedy);
    return text.replace(/\r?\n$/, '');
  } finally {
    await stopProgress();
  }
}

const inputTooLong = () =>
  new RuntimeError(
    'file_too_large',
    `Standard input is longer than ${MAX_CHARACTERS.toLocaleString('en')} characters.`,
    { hint: 'Put it into a file that the agent can read with a tool.' },
  );
