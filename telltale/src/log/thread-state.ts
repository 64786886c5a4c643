import type { MessageFrom } from './event.ts';
import type { HandoffRequest } from './handoff-event.ts';

/** A message for the agent that speaks, on the log of the conversation. */
export interface PendingMessage {
  readonly seq: number;
  /** Of what it brings about. */
  readonly depth: number;
  readonly from: MessageFrom;
  readonly text: string;
}

/** That the agent has asked to hand the conversation over, and where. */
export interface PendingHandoff extends HandoffRequest {
  readonly seq: number;
  /** Of what it brings about. */
  readonly depth: number;
}

/** The last final response of an agent whose session is another one. */
export interface SpeakerAnswer {
  readonly agent: string;
  readonly text: string;
}

/** A conversation that has moved from one agent to another. */
export interface ThreadStateThread {
  /** The agent that speaks, and its session: this one, or one of `members`. */
  readonly speaker: string;
  readonly session: string;
  /** The last handoff, and what it told the agent. */
  readonly seq: number;
  /** Of what the last handoff brings about. */
  readonly depth: number;
  readonly text: string;
  /** Who spoke since the conversation waited for the person, in order. */
  readonly spoken: readonly string[];
  /** Messages that came since the last handoff or answer, for an agent whose session is another one. */
  readonly pending: readonly PendingMessage[];
  /** All agents that have spoken, but for the first: their sessions, and where each handed over last. */
  readonly members: readonly ThreadMember[];
  /** Where this session's own agent handed over last. */
  readonly leftAt: number;
  /** Undefined once the session's own agent has the conversation again. */
  readonly answer?: SpeakerAnswer;
}

export interface ThreadMember {
  readonly agent: string;
  readonly session: string;
  readonly leftAt: number;
}
