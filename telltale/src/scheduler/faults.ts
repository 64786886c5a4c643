import { quote } from '../conditions/issue.ts';
import type { UnknownReference } from '../conditions/references/resolve-references.ts';
import type { EventBody } from '../events/event.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { Deadlock } from './graph.ts';

/** What the model is told, in its next turn, of something it wrote that cannot work. */
export type Fault = Extract<EventBody, { type: 'fault' }>;

const fault = (code: string, message: string): Fault => ({ type: 'fault', code, message });

export function deadlocked(id: string, why: Deadlock): Fault {
  switch (why.kind) {
    case 'cycle':
      return fault(
        'deadlock',
        `Action "${id}" was skipped: it waits for itself (${why.path.join(' waits for ')}). Take one of these out of "depends_on" or the parameters.`,
      );
    case 'unseen':
      return fault(
        'deadlock',
        `Action "${id}" was skipped: nothing further is read before it has ended, and it waits for "${why.id}", which has not been declared. Declare "${why.id}" first, or write mode="async" and leave the action out of <parallel>.`,
      );
    case 'turn_end':
      return fault(
        'deadlock',
        why.id === id
          ? `Action "${id}" was skipped: its target starts only when the turn has ended, and the turn waits for it. Write mode="async" and leave it out of <parallel>.`
          : `Action "${id}" was skipped: nothing further is read before it has ended, and it waits for "${why.id}", which starts only when the turn has ended. Write mode="async" and leave it out of <parallel>.`,
      );
  }
}

/** Names listed in one fault. */
const MAX_LISTED = 10;

export function unknownVariables(id: string, unknown: readonly UnknownReference[]): Fault {
  const sources = [...new Set(unknown.map(({ source }) => source))];
  const more = sources.length > MAX_LISTED ? ` and ${sources.length - MAX_LISTED} more` : '';
  return fault(
    'unknown_variable',
    `Action "${id}" was run with ${sources.slice(0, MAX_LISTED).join(', ')}${more} as written: no output_key, action, feed, variable, metadata field or target called once has that name. Write $$ for a dollar sign.`,
  );
}

export const duplicateId = (id: string): Fault =>
  fault(
    'duplicate_id',
    `The id ${quote(id)} is taken; the second action with it does not run. Write another id.`,
  );

export const loopSkipped = (because: string | undefined): Fault =>
  fault(
    'bad_list',
    because === undefined
      ? 'A <foreach> did not run, and none of its actions did: the turn broke off.'
      : `A <foreach> did not run, and none of its actions did: its list needs "${because}", which did not succeed.`,
  );

export const loopFailed = ({ message, hint }: RuntimeError): Fault =>
  fault('bad_list', `A <foreach> did not run: ${message}${hint === undefined ? '' : ` ${hint}`}`);
