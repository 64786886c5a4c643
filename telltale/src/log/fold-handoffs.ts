import { isHandoff } from './action.ts';
import type { EventOf, ObservedEvent, SessionEvent } from './event.ts';
import { SPEAKER, tellMessage } from './fold-life.ts';
import type { SessionState } from './state.ts';

/** The agent that speaks for itself, of such an action. */
export const speakerOf = (action: string): string | undefined =>
  action.startsWith(SPEAKER) ? action.slice(SPEAKER.length) : undefined;

/** What the agent that has the conversation did, as its own log says it. */
export interface SpeakerEvent {
  readonly speaker: string;
  readonly event: SessionEvent;
}

/** Undefined for what is no copy of a speaker's event. */
export function speakerEventOf(event: ObservedEvent): SpeakerEvent | undefined {
  if (!('child' in event) || event.type === 'child.usage') return undefined;
  const speaker = speakerOf(event.action);
  if (speaker === undefined) return undefined;
  const { type, child, at, turn, cause } = event;
  const own = { ...event.event, type: type.slice('child.'.length), ...child, at, turn, cause };
  return { speaker, event: own as SessionEvent }; // a copy holds what the original says
}

/** Whether another agent than the session's own speaks. */
export const isAway = ({ thread, agent }: Pick<SessionState, 'thread' | 'agent'>): boolean =>
  thread !== undefined && thread.speaker !== agent;

export function handOver(state: SessionState, event: EventOf<'handoff'>): void {
  const { from, to, agent_session: session, seq, text, cause } = event;
  const before = state.thread;
  const members = (before?.members ?? []).map((each) =>
    each.agent === from ? { ...each, leftAt: seq } : each,
  );
  const isOwn = to === state.agent;
  const isKnown = isOwn || members.some((each) => each.agent === to);
  state.thread = {
    speaker: to,
    session,
    seq,
    depth: cause.depth + 1,
    text,
    spoken: [...(before?.spoken ?? [from]), to],
    pending: [],
    members: isKnown ? members : [...members, { agent: to, session, leftAt: 0 }],
    leftAt: from === state.agent ? seq : (before?.leftAt ?? 0),
    ...(before?.answer === undefined || isOwn ? {} : { answer: before.answer }),
  };
  state.status = 'running';
  state.idle = false;
  delete state.handoff;
  if (isOwn) tellMessage(state, 'user', text);
}

/** A message for whoever speaks. */
export function hearMessage(state: SessionState, event: EventOf<'message.received'>): void {
  if (state.status === 'waiting') state.status = 'running';
  state.idle = false;
  const { from, text, seq, cause } = event;
  if (cause.stream === state.parent?.session) state.toldSeq = cause.seq;
  if (state.thread !== undefined && isAway(state) && from !== 'runtime') {
    const message = { seq, depth: cause.depth + 1, from, text };
    state.thread = { ...state.thread, pending: [...state.thread.pending, message] };
  } else tellMessage(state, from, text);
}

/** Whether the agent has asked to hand the conversation over, or is about to. */
export const handsOver = ({ handoff, open, actions }: SessionState): boolean =>
  handoff !== undefined ||
  [...open].some((id) => {
    const action = actions.get(id)?.action;
    return action !== undefined && isHandoff(action);
  });
