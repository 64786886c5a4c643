import { type Command, Option } from 'commander';
import { durabilityOption } from '../session/durability-option.ts';
import { addStoreOption } from '../session/store-option.ts';
import { wholeNumber } from '../whole-number.ts';
import { addModeOptions } from './run-mode.ts';
import type { WorkOptions } from './work-session.ts';

/** What `run` and `resume` both take. */
export const addWorkOptions = (command: Command): Command =>
  addStoreOption(addModeOptions(command))
    .option('--model <ref>', "in place of the manifest's model: provider/name, or scripted:FILE")
    .option('--record <file>', "write the model's turns to a file that scripted: plays")
    .option('--max-turns <n>', 'turns of the session at the most')
    .addOption(
      new Option('--debug <what>', 'also show each decision that an artifact is asked for').choices([
        'invoke',
      ]),
    )
    .addOption(durabilityOption());

export const maxTurnsOf = ({ maxTurns }: WorkOptions): number | undefined =>
  maxTurns === undefined ? undefined : wholeNumber('--max-turns', maxTurns);
