import type { EventOf, MessageFrom, ParentRef } from './event.ts';
import type { VariableClass } from './session-events.ts';
import type { SessionState } from './state.ts';

export function begin(state: SessionState, event: EventOf<'session.started'>): void {
  state.id = event.session;
  state.agent = event.agent;
  state.manifest = event.manifest;
  state.model = event.model;
  if (event.seal !== undefined) state.seal = event.seal;
  if (event.environment !== undefined) state.environment = event.environment;
  if (event.parent !== undefined) {
    state.parent = event.parent;
    if (event.cause.stream === event.parent.session) state.toldSeq = event.cause.seq;
  }
  if (event.max_turns !== undefined) state.maxTurns = event.max_turns;
  if (event.chat === true) state.chat = true;
  if (event.led === true) state.led = true;
  if (event.forked !== undefined) state.forkedAt = event.forked.seq;
  if (event.user !== undefined) state.user = event.user;
  if (event.balance !== undefined) grant(state, event.balance);
  state.input = event.input;
  state.startedAt = event.at;
  Object.assign(state.metadata, event.metadata);
  for (const [name, value] of Object.entries(event.vars ?? {}))
    state.variables.set(name, { value, class: classIn(event, name), by: 'start' });
  const isCalled = event.parent !== undefined && event.led !== true && !isSpeaker(event.parent);
  tellMessage(state, isCalled ? 'parent' : 'user', event.input);
}

/** What the actions of copied events are called where an agent has the conversation, and no action has called it. */
export const SPEAKER = 'speaker:';

/** Whether the session speaks in the conversation of its parent. */
export const isSpeaker = ({ action }: ParentRef): boolean => action.startsWith(SPEAKER);

/** What was spent of another balance before is spent of this one, too. */
export function grant(state: SessionState, balance: number): void {
  const spent = (state.granted ?? 0) - (state.balance ?? 0);
  state.granted = balance;
  state.balance = balance - spent;
}

export function tellMessage({ news }: SessionState, from: MessageFrom, text: string): void {
  news.messages.push({ from, text });
}

const classIn = ({ classes }: EventOf<'session.started'>, name: string): VariableClass =>
  classes !== undefined && Object.hasOwn(classes, name) ? (classes[name] ?? 'runtime') : 'runtime';

export function end(state: SessionState, status: SessionState['status']): void {
  state.status = status;
  delete state.fallback;
  delete state.failing;
}

/**
 * Once a session goes on as a chat, what it completed with is the answer of its last exchange. The limit of turns is one
 * of each exchange: a chat that reached it waits for the next message, unless it was allowed more turns.
 */
export function becomeChat(state: SessionState, { max_turns }: EventOf<'session.resumed'>): void {
  state.chat = true;
  const isOutOfTurns = state.status === 'failed' && state.error?.code === 'limit_turns';
  if (state.status !== 'completed' && !(isOutOfTurns && max_turns === undefined)) return;
  state.idle = true;
  state.turnsBefore = state.totals.turns;
  delete state.result;
}

/** A session that had come to an end of any kind runs again. */
export function goOn(state: SessionState): void {
  // Otherwise it would stall again at once, before the model has seen what it was given to go on with.
  if (state.status === 'stalled') state.idleTurns = 0;
  state.status = 'running';
  delete state.error;
  state.totals.failedTurns = 0;
}
