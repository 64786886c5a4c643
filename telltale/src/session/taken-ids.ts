import type { DeclaredAction } from '../events/action.ts';
import type { SessionState } from '../events/state.ts';
import { isLoop, loopOf } from '../scheduler/loops.ts';

/** Ids that a new action may not take, of all turns before `beforeTurn`: of actions, groups and loops. */
export function takenIds(state: SessionState, beforeTurn = Number.POSITIVE_INFINITY): Set<string> {
  const ids = new Set<string>();
  for (const { action, turn } of state.actions.values())
    if (turn < beforeTurn) for (const id of idsOf(action)) ids.add(id);
  return ids;
}

function* idsOf(action: DeclaredAction): Iterable<string> {
  yield action.id;
  if (action.group !== undefined) yield action.group;
  if (action.within !== undefined) yield* action.within;
  if (action.base !== undefined) yield action.base;
  // A `<foreach>` may have made none of its actions, but their ids are given out, and those of what they stand in.
  if (isLoop(action)) for (const made of loopOf(action).actions) yield* idsOf(made);
}
