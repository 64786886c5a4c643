import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { usage } from '../options.ts';

/** How a run is shown. */
export type RunMode = 'live' | 'plain' | 'quiet' | 'events' | 'json';

export interface ModeOptions {
  readonly events?: true;
  readonly json?: true;
  readonly quiet?: true;
}

export const addModeOptions = (command: Command, result = 'final response'): Command =>
  command
    .option('--events', 'print each event as it happens, one JSON object per line')
    .option('--json', 'print the result as one JSON object at the end')
    .option('-q, --quiet', `print only the ${result}`);

export function runMode(options: ModeOptions, { stdout }: Pick<Io, 'stdout'>): RunMode {
  const asked = (['events', 'json', 'quiet'] as const).filter((mode) => options[mode] === true);
  const [mode, other] = asked;
  if (other !== undefined)
    throw usage(`'--${mode}' and '--${other}' cannot be used together.`, 'Use only one of them.');
  return mode ?? (stdout.isTerminal ? 'live' : 'plain');
}
