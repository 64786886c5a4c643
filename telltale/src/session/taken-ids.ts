import { idsOf, writtenId } from '../events/action-id.ts';
import type { SessionState } from '../events/state.ts';

/** Ids of actions, groups and loops of all turns before `beforeTurn`, as they were written. */
export function takenIds(state: SessionState, beforeTurn = Number.POSITIVE_INFINITY): Set<string> {
  const ids = new Set<string>();
  for (const { action, turn } of state.actions.values())
    if (turn < beforeTurn) for (const id of idsOf(action)) ids.add(writtenId(id));
  return ids;
}
