import { type Command, Option } from 'commander';
import { durabilityOption } from '../session/durability-option.ts';
import { addStoreOption } from '../session/store-option.ts';
import { wholeNumber } from '../whole-number.ts';
import { addModeOptions } from './run-mode.ts';
import type { WorkOptions } from './work-session.ts';

/** What `run` and `resume` both take. */
export const addWorkOptions = (command: Command): Command =>
  addStoreOption(addModeOptions(command))
    .option('--model <ref>', "use this model instead of the manifest's: provider/name, or scripted:FILE")
    .option('--record <file>', "write the model's turns to a file that scripted:FILE can play back")
    .option('--max-turns <n>', 'the most turns the session may take')
    .addOption(new Option('--debug <what>', 'also show each decision of an artifact').choices(['invoke']))
    .addOption(durabilityOption());

export const maxTurnsOf = ({ maxTurns }: WorkOptions): number | undefined =>
  maxTurns === undefined ? undefined : wholeNumber('--max-turns', maxTurns);
