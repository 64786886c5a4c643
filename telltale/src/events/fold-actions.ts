import { type ActionState, type DeclaredAction, isShown, isTracked } from './action.ts';
import { forgetChild } from './fold-children.ts';
import { forgetReviews } from './fold-reviews.ts';
import { forgetOrders } from './fold-runs.ts';
import { withoutBegun } from './hook-marks.ts';
import { type News, RECENT_ACTIONS, type SessionState } from './state.ts';

export function declare(state: SessionState, action: DeclaredAction, turn: number): void {
  state.signs.tags = true;
  state.signs.deeds = true;
  state.actions.set(action.id, { action, turn, status: 'waiting', attempts: 0 });
  state.open.add(action.id);
  if (state.recent.push(action.id) > RECENT_ACTIONS) state.recent.shift();
  if (isShown(action)) state.called.set(action.name, state.called.has(action.name) ? undefined : action.id);
}

/** An array of one is a fifth of the size of one that is pushed to, and is kept for as long as the session. */
function addResult(news: News, id: string): void {
  if (news.results.length === 0) news.results = [id];
  else news.results.push(id);
}

export function settle(state: SessionState, id: string, end: (action: ActionState) => void): void {
  const action = state.actions.get(id);
  if (action === undefined) return;
  end(action);
  state.open.delete(id);
  forgetReviews(state, id);
  if (state.children.length > 0) forgetChild(state, id);
  if (action.action.kind === 'workflow') forgetOrders(state, `${state.id}.${id}`);
  if (state.hooks.length > 0) state.hooks = withoutBegun(state.hooks, id);
  // A `<foreach>` is no news, but that one did not run is: what was asked for in it has no result to say so.
  if (isTracked(action.action) && (isShown(action.action) || action.status !== 'completed'))
    addResult(state.news, id);
}
