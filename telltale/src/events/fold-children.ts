import { added } from '../kernel/grow.ts';
import type { ChildEventBody } from './event.ts';
import { speakerOf } from './fold-handoffs.ts';
import { charge } from './fold-turns.ts';
import type { ChildCursor, SessionState } from './state.ts';

/** What a sub-agent used counts here as if this session had used it. */
export function followChild(state: SessionState, event: ChildEventBody): void {
  const { action, child } = event;
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
    if (state.thread !== undefined && event.event.final && speakerOf(action) !== undefined)
      state.thread = { ...state.thread, answer: event.event.text };
  } else if (event.type === 'child.usage') {
    charge(state, event.usage ?? NO_USAGE, event.cost_usd ?? 0);
    if (state.balance !== undefined) state.balance -= event.charged ?? 0;
  }
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

export function forgetChild(state: SessionState, action: string): void {
  state.children = state.children.filter((cursor) => cursor.action !== action);
}

/** As many as run side by side: looked for one by one. */
function cursorOf(state: SessionState, action: string): ChildCursor {
  const known = state.children.find((cursor) => cursor.action === action);
  if (known !== undefined) return known;
  const cursor = { action, tries: 0, session: '', seq: 0 };
  state.children = added(state.children, cursor);
  return cursor;
}
