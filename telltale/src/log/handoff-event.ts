/** What the next agent is told of the conversation: its messages, a summary of them, or only the last one. */
export type Carried = 'messages' | 'summary' | 'none';

/** What decided that another agent speaks. */
export type HandoffBy = 'model' | 'rule' | 'group' | 'message';

/** Of an agent that asks to hand the conversation over. It takes effect at the end of its turn. */
export interface HandoffRequest {
  readonly to: string;
  readonly reason?: string;
  readonly carry?: Carried;
  /** The agent's own summary of the conversation. */
  readonly summary?: string;
  /** The action that asked for it. */
  readonly action: string;
}

export type HandoffEventBody =
  /** On the log of the agent that asks for it. */
  | ({ readonly type: 'handoff.requested' } & HandoffRequest)
  /** On the log of the conversation, which is that of its first agent: from here on `to` speaks. */
  | {
      readonly type: 'handoff';
      readonly from: string;
      readonly to: string;
      /** The session of the agent that speaks from here on. */
      readonly agent_session: string;
      readonly by: HandoffBy;
      readonly reason?: string;
      readonly carry: Carried;
      /** What the next agent is told. */
      readonly text: string;
    };
