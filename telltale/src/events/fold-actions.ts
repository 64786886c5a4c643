import { added, joined, left, NOTHING, put } from '../kernel/grow.ts';
import { type ActionState, type DeclaredAction, isReported, isShown } from './action.ts';
import { idsOf, writtenId } from './action-id.ts';
import type { EventOf } from './event.ts';
import { forgetChild } from './fold-children.ts';
import { forgetReviews } from './fold-reviews.ts';
import { forgetOrders } from './fold-runs.ts';
import { noteTried } from './fold-tasks.ts';
import { withoutBegun } from './hook-marks.ts';
import { RECENT_ACTIONS, type SessionState } from './state.ts';

/** Copied, as the record of a turn is. */
const DECLARED: ActionState = { action: undefined as never, turn: 0, status: 'waiting', attempts: 0 };

export function declare(state: SessionState, action: DeclaredAction, turn: number): void {
  state.signs.tags = true;
  state.signs.deeds = true;
  if (!state.turnOpen) state.idleTurns = 0; // it came of the turn that has just ended
  state.actions.set(action.id, { ...DECLARED, action, turn });
  noteReused(state, action);
  state.open = joined(state.open, action.id);
  state.recent = added(state.recent, action.id);
  if (state.recent.length > RECENT_ACTIONS) state.recent = state.recent.slice(1);
  if (isShown(action))
    state.called = put(state.called, action.name, state.called.has(action.name) ? undefined : action.id);
}

/** Takes note of ids that stand for a newer action from now on. */
export function noteReused(state: SessionState, action: DeclaredAction): void {
  for (const id of idsOf(action)) {
    // The rounds of a `<foreach>` are found by its own.
    if (!id.includes('@') || id.includes('[')) continue;
    state.reused = put(state.reused ?? NOTHING, writtenId(id), id);
  }
}

type Ended = EventOf<
  'action.completed' | 'action.failed' | 'action.skipped' | 'action.cancelled' | 'action.interrupted'
>;

export function settle(state: SessionState, event: Ended): void {
  const { id } = event;
  const action = state.actions.get(id);
  if (action === undefined) return;
  end(state, action, event);
  state.open = left(state.open, id);
  forgetReviews(state, id);
  if (state.children.length > 0) forgetChild(state, id);
  if (action.action.kind === 'workflow') forgetOrders(state, `${state.id}.${id}`);
  if (state.hooks.length > 0) state.hooks = withoutBegun(state.hooks, id);
  // A `<foreach>` is no news, but that one did not run is: what was asked for in it has no result to say so.
  if (isReported(action.action) && (isShown(action.action) || action.status !== 'completed'))
    state.news.results = added(state.news.results, id);
}

function end(state: SessionState, action: ActionState, event: Ended): void {
  switch (event.type) {
    case 'action.completed': {
      action.status = 'completed';
      action.output = event.output;
      action.attempts = event.attempts;
      action.ms = event.ms;
      const key = action.action.output_key;
      if (key !== undefined) state.outputs = put(state.outputs, key, event.id);
      if (state.task !== undefined) noteTried(state.task, action);
      break;
    }
    case 'action.failed':
      action.status = 'failed';
      action.error = event.error;
      action.attempts = event.attempts;
      action.ms = event.ms;
      if (state.task !== undefined) noteTried(state.task, action);
      if (action.action.on_error === 'fail') state.failing ??= event.id;
      break;
    case 'action.skipped': {
      const { reason, because } = event;
      action.status = 'skipped';
      action.skipped = because === undefined ? { reason } : { reason, because };
      break;
    }
    case 'action.cancelled':
      action.status = 'cancelled';
      action.error = { code: 'cancelled', message: event.reason, retryable: false };
      break;
    case 'action.interrupted':
      action.status = 'interrupted';
      action.attempts = event.attempt;
      break;
  }
}
