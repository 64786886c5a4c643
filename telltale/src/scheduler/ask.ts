import type { DeclaredAction } from '../events/action.ts';
import type { Cause } from '../events/event.ts';
import { NONE } from '../kernel/grow.ts';
import { withReferences } from './bind.ts';
import { bindingOf } from './binding-of.ts';
import { duplicateId } from './faults.ts';
import { openLoop, spoilGroup } from './gates-of.ts';
import { loopAction } from './loops.ts';
import type { Loop } from './scheduler.ts';
import { freshLoopId, isTaken, take } from './take.ts';
import type { Works } from './works.ts';

const DECLARED = { turn: 'open', undoes: undefined } as const;

/** Takes in what the model asks for, unless its id is taken. */
export function ask(works: Works, action: DeclaredAction, cause: Cause): void {
  if (isTaken(works, action.id)) refuse(works, action, cause);
  else take(works, action, cause, DECLARED);
}

/** The same for each item of a list that may still have to come. */
export function askForEach(works: Works, asked: Loop, cause: Cause): void {
  const actions = asked.actions.filter((action) => {
    if (!isTaken(works, action.id)) return true;
    refuse(works, action, cause);
    return false;
  });
  const taken = { ...asked, actions };
  const made = loopAction(freshLoopId(works), taken);
  // Before the names of what it makes stand for the `<foreach>` itself.
  const action = withReferences(works, made, bindingOf(works, made, false), false);
  if (works.life === 'open') openLoop(works, taken);
  take(works, action, cause, DECLARED);
}

/** Its id is taken, by a `<foreach>` say, which the model has not named. */
function refuse(works: Works, { id, group, within = NONE }: DeclaredAction, cause: Cause): void {
  const groups = group === undefined ? NONE : [...within, group];
  works.edges.append({ ...duplicateId(id), ...(groups.length === 0 ? {} : { groups }) }, cause);
  for (const each of groups) spoilGroup(works, each);
}
