import { type ActionState, rollsBack } from '../events/action.ts';
import type { SessionState } from '../events/state.ts';
import { retriesOf } from './retries.ts';
import type { Run } from './run.ts';

/** Further starts of an action that the process died with, time and again: it may be what kills it. */
const MAX_RESTARTS = 10;

/**
 * A sub-agent is a session: it goes on as often as it has to, and its own actions are counted by themselves. So are those
 * that a rollback consists of.
 */
export const mayRestart = ({ action, attempts }: ActionState): boolean =>
  action.kind === 'agent' || rollsBack(action) || attempts <= retriesOf(action) + MAX_RESTARTS;

/** Ids of completed actions in the order of their completion, as far as the state knows it: the rest comes first. */
export function completionOrder(state: SessionState): string[] {
  const told = [...state.turns.flatMap(({ news }) => news.results), ...state.news.results];
  const known = new Set(told);
  const untold = [...state.actions.keys()].filter((id) => !known.has(id));
  return [...untold, ...told].filter((id) => {
    const status = state.actions.get(id)?.status;
    return status === 'completed' || status === 'compensated';
  });
}

/** How the turn that declared an action has ended, if it has. */
export function turnOf(state: SessionState, { turn }: ActionState): Run['turn'] {
  if (turn === state.turn && state.turnOpen) return 'open';
  const after =
    turn === state.turn ? state.news : state.turns.find((record) => record.turn === turn + 1)?.news;
  return after?.broken === undefined && after?.short === undefined ? 'well' : 'broken';
}
