import { type ActionState, type DeclaredAction, idsOf, isReported, isShown, writtenId } from './action.ts';
import type { ChildEventBody, EventOf } from './event.ts';
import { speakerOf } from './fold-handoffs.ts';
import { forgetOrders, noteTried } from './fold-runs.ts';
import { charge } from './fold-turns.ts';
import { withoutBegun } from './hook-marks.ts';
import { forgetReviews } from './reviews.ts';
import { type ChildCursor, RECENT_ACTIONS, type SessionState } from './state.ts';
import type { ThreadStateThread } from './thread-state.ts';

export function declare(state: SessionState, action: DeclaredAction, turn: number): void {
  state.signs.tags = true;
  state.signs.deeds = true;
  if (!state.turnOpen) state.idleTurns = 0; // it came of the turn that has just ended
  state.actions.set(action.id, { action, turn, status: 'waiting', attempts: 0 });
  noteReused(state, action);
  state.open.add(action.id);
  if (state.recent.push(action.id) > RECENT_ACTIONS) state.recent.shift();
  if (isShown(action)) state.called.set(action.name, state.called.has(action.name) ? undefined : action.id);
}

/** Takes note of ids that stand for a newer action from now on. */
export function noteReused(state: SessionState, action: DeclaredAction): void {
  for (const id of idsOf(action)) {
    // The rounds of a `<foreach>` are found by its own.
    if (!id.includes('@') || id.includes('[')) continue;
    state.reused ??= new Map();
    state.reused.set(writtenId(id), id);
  }
}

type FoldActionsEnded = EventOf<
  'action.completed' | 'action.failed' | 'action.skipped' | 'action.cancelled' | 'action.interrupted'
>;

export function settle(state: SessionState, event: FoldActionsEnded): void {
  const { id } = event;
  const action = state.actions.get(id);
  if (action === undefined) return;
  end(state, action, event);
  state.open.delete(id);
  forgetReviews(state, id);
  if (state.children.length > 0) forgetChild(state, id);
  if (action.action.kind === 'workflow') forgetOrders(state, `${state.id}.${id}`);
  if (state.hooks.length > 0) state.hooks = withoutBegun(state.hooks, id);
  // A `<foreach>` is no news, but that one did not run is: what was asked for in it has no result to say so.
  if (isReported(action.action) && (isShown(action.action) || action.status !== 'completed'))
    state.news.results.push(id);
}

function end(state: SessionState, action: ActionState, event: FoldActionsEnded): void {
  switch (event.type) {
    case 'action.completed': {
      action.status = 'completed';
      action.output = event.output;
      action.attempts = event.attempts;
      action.ms = event.ms;
      const key = action.action.output_key;
      if (key !== undefined) state.outputs.set(key, event.id);
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

/** What a sub-agent used counts here as if this session had used it. */
export function followChild(state: SessionState, event: ChildEventBody): void {
  const { action, child } = event;
  if (state.thread !== undefined) state.thread = inOwnSession(state.thread, action, child.session);
  // One that was left to itself, since it did not stop in time, still costs what it costs.
  if (state.open.has(action) || speakerOf(action) !== undefined) {
    const cursor = cursorOf(state, action);
    cursor.session = child.session;
    cursor.seq = child.seq;
  }
  if (event.type === 'child.turn.completed' || event.type === 'child.turn.failed') {
    const { usage, cost_usd = 0 } = event.event;
    if (usage !== undefined) charge(state, usage, cost_usd);
    if (event.type === 'child.turn.completed') countTurn(state, action);
  } else if (event.type === 'child.response') {
    const agent = speakerOf(action);
    if (state.thread !== undefined && event.event.final && agent !== undefined)
      state.thread = { ...state.thread, answer: { agent, text: event.event.text } };
  } else if (event.type === 'child.usage') {
    charge(state, event.usage ?? NO_USAGE, event.cost_usd ?? 0);
    if (state.balance !== undefined) state.balance -= event.charged ?? 0;
  }
}

/** In a fork, an agent that spoke before speaks on in a session of its own. */
function inOwnSession(thread: ThreadStateThread, action: string, session: string): ThreadStateThread {
  const agent = speakerOf(action);
  const known = thread.members.find((each) => each.agent === agent);
  if (known === undefined || known.session === session) return thread;
  return {
    ...thread,
    session: thread.speaker === agent ? session : thread.session,
    members: thread.members.map((each) => (each === known ? { ...each, session } : each)),
  };
}

/** The agent whose event was copied. */
export const agentOfChild = (state: SessionState, action: string): string | undefined =>
  speakerOf(action) ?? state.actions.get(action)?.action.name;

function countTurn(state: SessionState, action: string): void {
  const agent = agentOfChild(state, action);
  if (agent === undefined) return;
  const before = state.childTurns.find((each) => each.agent === agent);
  const others = state.childTurns.filter((each) => each !== before);
  state.childTurns = [...others, { agent, turns: (before?.turns ?? 0) + 1 }];
}

const NO_USAGE = { input: 0, output: 0 };

/** The next try of the action is another session. */
export function retryChild(state: SessionState, action: string): void {
  const cursor = cursorOf(state, action);
  cursor.tries++;
  cursor.session = '';
  cursor.seq = 0;
}

function forgetChild(state: SessionState, action: string): void {
  state.children = state.children.filter((cursor) => cursor.action !== action);
}

/** As many as run side by side: looked for one by one. */
function cursorOf(state: SessionState, action: string): ChildCursor {
  const known = state.children.find((cursor) => cursor.action === action);
  if (known !== undefined) return known;
  const cursor = { action, tries: 0, session: '', seq: 0 };
  state.children = [...state.children, cursor];
  return cursor;
}
