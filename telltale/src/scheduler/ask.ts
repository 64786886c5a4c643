import type { DeclaredAction } from '../log/action.ts';
import { firstShared, idInTurn, newestOf } from '../log/action-id.ts';
import type { Cause } from '../log/event.ts';
import { withReferences } from './bind.ts';
import { duplicateId, type FaultsFault } from './faults.ts';
import { openLoop, spoilGroup } from './gates-of.ts';
import { isClosed } from './graph.ts';
import { isLoop, loopAction, loopOf } from './loops.ts';
import { bindingOf } from './named.ts';
import type { SchedulerCore } from './run.ts';
import type { Loop } from './scheduler.ts';
import { freshLoopId, isTaken, take } from './take.ts';

const DECLARED = { turn: 'open', undoes: undefined } as const;

/**
 * What is known on the log under an id that a model gives: the id itself for the first that has it. It may be given again
 * once its holder has ended, unless that is of this turn, or of one that this turn may repeat. `by` names what asks.
 */
export function claim(scheduler: SchedulerCore, id: string, by: string): string | FaultsFault {
  const { state, graph, runs } = scheduler;
  const holder = newestOf(state, id);
  if (!isTaken(scheduler, holder)) return id;
  const gate = graph.gates?.get(holder);
  const turn = turnOf(scheduler, holder);
  const isOpen = runs.has(holder) || (gate !== undefined && !isClosed(gate));
  return isOpen || turn >= firstShared(state)
    ? duplicateId(id, by, state.actions.get(holder), turn)
    : idInTurn(id, state.turn);
}

/** The turn in which an action, a `<parallel>` or what a `<foreach>` makes was declared. */
function turnOf({ state }: SchedulerCore, id: string): number {
  const known = state.actions.get(id);
  if (known !== undefined) return known.turn;
  const isOf = ({ base, group, within }: DeclaredAction) =>
    base === id || group === id || within?.includes(id) === true;
  for (const { action, turn } of state.actions.values()) {
    if (isOf(action)) return turn;
    if (isLoop(action) && loopOf(action).actions.some((made) => made.id === id || isOf(made))) return turn;
  }
  return state.turn;
}

/** Takes in what the model asks for, and says what it is known by, unless its id is taken. */
export function ask(scheduler: SchedulerCore, asked: DeclaredAction, cause: Cause): string | undefined {
  const id = claim(scheduler, asked.id, called(asked));
  if (typeof id !== 'string') {
    refuse(scheduler, asked, id, cause);
    return undefined;
  }
  take(scheduler, known(scheduler, asked, new Map([[asked.id, id]])), cause, DECLARED);
  return id;
}

/** The same for each item of a list that may still have to come. */
export function askForEach(scheduler: SchedulerCore, asked: Loop, cause: Cause): void {
  const ids = new Map<string, string>();
  const free = asked.actions.filter((action) => {
    const id = claim(scheduler, action.id, called(action));
    if (typeof id === 'string') ids.set(action.id, id);
    else refuse(scheduler, action, id, cause);
    return typeof id === 'string';
  });
  const taken = { ...asked, actions: free.map((action) => known(scheduler, action, ids)) };
  const made = loopAction(freshLoopId(scheduler), taken);
  // Before the names of what it makes stand for the `<foreach>` itself.
  const action = withReferences(scheduler, made, bindingOf(scheduler, made, false), false);
  if (scheduler.life === 'open') openLoop(scheduler, taken);
  take(scheduler, action, cause, DECLARED);
}

const called = ({ name }: DeclaredAction): string => `the action of "${name}"`;

/**
 * The action under the id that it is known by, and bound to what it depends on as of now. `ids` are those of the actions
 * that it stands beside in a `<foreach>`, and its own.
 */
function known(
  scheduler: SchedulerCore,
  action: DeclaredAction,
  ids: ReadonlyMap<string, string>,
): DeclaredAction {
  const { depends_on: needs } = action;
  const bound = (needed: string): string =>
    (needed === action.id ? undefined : ids.get(needed)) ?? newestOf(scheduler.state, needed);
  const id = ids.get(action.id) ?? action.id;
  const isSame = id === action.id && (needs === undefined || needs.every((each) => bound(each) === each));
  if (isSame) return action;
  return { ...action, id, ...(needs === undefined ? {} : { depends_on: needs.map(bound) }) };
}

/** Its id is taken, by what has not ended, or by what this turn repeats. */
function refuse(
  scheduler: SchedulerCore,
  { group, within = [] }: DeclaredAction,
  why: FaultsFault,
  cause: Cause,
): void {
  const groups = group === undefined ? [] : [...within, group];
  scheduler.deps.append({ ...why, ...(groups.length === 0 ? {} : { groups }) }, cause);
  for (const each of groups) spoilGroup(scheduler, each);
}
