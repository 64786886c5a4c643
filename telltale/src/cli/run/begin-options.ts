import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { StartOptions } from '../../session/runtime-types.ts';
import type { Io } from '../io.ts';
import { usage } from '../usage.ts';
import { readVars } from './read-vars.ts';
import { addWorkOptions, maxTurnsOf } from './work-options.ts';
import type { WorkOptions } from './work-session.ts';

export interface BeginOptions extends WorkOptions {
  readonly model?: string;
  readonly record?: string;
  readonly resume?: string;
  readonly var: readonly string[];
  readonly acceptChanges?: true;
}

/** What `run` and `chat` both take: they begin a session, or go on with one. */
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

/** How the options want a new session to be started. Refuses those that do not go together. */
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
