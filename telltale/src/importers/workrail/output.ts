import type { JsonObject } from '../../kernel/json.ts';
import type { Place } from '../report.ts';
import { contractOf, LOOP_CONTROL } from './contracts.ts';
import type { Around, Conversion } from './conversion.ts';
import { section } from './prompt-text.ts';
import type { TaskStep } from './shape-step.ts';

export interface Output {
  readonly requires?: JsonObject;
  /** What the agent is told of it. */
  readonly told?: string;
}

const DECISION: JsonObject = { enum: ['continue', 'stop'] };

/** An output contract: a key of `context_updates` with its schema, in place of an artifact. */
export function outputOf(
  contract: TaskStep['outputContract'],
  place: Place,
  { decision }: Pick<Around, 'decision'>,
  c: Conversion,
  construct = 'outputContract',
): Output {
  if (contract === undefined) return {};
  const { contractRef, required = true } = contract;
  if (contractRef === LOOP_CONTROL) {
    const key = decision ?? c.variables.own('loop_decision', 'Whether to go on.');
    c.report.note(
      place,
      construct,
      'changed',
      decision === undefined
        ? `requires ${key}; no loop reads it`
        : `requires ${key}, continue or stop, which the loop goes by`,
    );
    return { requires: { [key]: DECISION }, told: decisionText(key) };
  }
  const { key, kind, schema, isKnown } = contractOf(contractRef);
  const name = c.variables.named(key);
  const known = isKnown ? '' : '; what it asks for is not known here, so any object will do';
  c.report.note(
    place,
    construct,
    'changed',
    required ? `requires ${name} with the contract's schema${known}` : `${name} may be given${known}`,
  );
  const told = section('To complete this step', [
    `${required ? 'Give' : 'You may give'} \`${name}\` in \`context_updates\`${required ? '' : `, as JSON like ${JSON.stringify(schema)}`}. Where an artifact of the kind \`${kind}\` is spoken of, this is what is meant; its \`kind\` and \`version\` are left out.`,
  ]);
  return { ...(required ? { requires: { [name]: schema } } : {}), ...(told === undefined ? {} : { told }) };
}

const decisionText = (key: string): string =>
  `## To complete this step\nGive \`${key}\` in \`context_updates\`: \`"continue"\` for another round, \`"stop"\` to end them. Where an artifact of the kind \`wr.loop_control\` is spoken of, this is what is meant.`;
