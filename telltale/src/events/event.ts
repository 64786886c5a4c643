import type { InvokeRecord } from '../kernel/invoke-record.ts';
import type { Json } from '../kernel/json.ts';
import type { ActionEventBody } from './action-event.ts';
import type { FeedEventBody } from './feed-event.ts';
import type { HandoffEventBody } from './handoff-event.ts';
import type { HookRecord } from './hook-record.ts';
import type { LifeEventBody } from './life-event.ts';
import type { LiveEvent } from './live-event.ts';
import type { ReviewEventBody } from './review-event.ts';
import type { TaskEventBody } from './task-event.ts';
import type { TriggerEventBody } from './trigger-event.ts';
import type { TurnEventBody, Usage } from './turn-event.ts';
import type { ValueEventBody } from './value-event.ts';

/** The event that brought another about. `depth` counts the steps from the start of the chain. */
export interface Cause {
  readonly stream: string;
  /** 0 where the cause lies outside every log: a person or a program that started the session. */
  readonly seq: number;
  readonly depth: number;
}

/** Who put a message in front of the agent. */
export type MessageFrom = 'user' | 'steer' | 'parent' | 'workflow' | 'runtime' | 'verifier';

/** What happened in a session itself, without its place on the log. */
export type OwnEventBody =
  | LifeEventBody
  | TurnEventBody
  | ReviewEventBody
  | ActionEventBody
  | ValueEventBody
  | TriggerEventBody
  | { readonly type: 'message.received'; readonly from: MessageFrom; readonly text: string }
  | { readonly type: 'audit'; readonly who: string; readonly what: string }
  | {
      readonly type: 'budget.charged';
      readonly what: 'turn' | 'action' | 'artifact';
      readonly amount: number;
      readonly balance: number;
    }
  | TaskEventBody
  | HandoffEventBody
  | FeedEventBody
  | ({ readonly type: 'invoke' } & InvokeRecord)
  | ({ readonly type: 'hook.ran' } & HookRecord)
  | {
      readonly type: 'artifact.written';
      readonly artifact: string;
      readonly version: number;
      /** The version it was made from; absent for the first. */
      readonly parent?: number;
      /** Where an old one was put back. */
      readonly restores?: number;
      readonly by: string;
    }
  | { readonly type: 'custom'; readonly name: string; readonly data: Json };

/** What of a sub-agent's log its parent's log holds, too. */
export type CopiedType =
  | 'thought'
  | 'text'
  | 'response'
  | 'turn.completed'
  | 'turn.failed'
  | 'action.completed'
  | 'action.failed'
  | 'metadata.changed'
  /** Only of variables that it shares with its parent. */
  | 'variable.changed';

interface OfChild {
  /** The action that called the sub-agent, `speaker:NAME` where it has the conversation, or `feed:ID` of a feed that a workflow makes. */
  readonly action: string;
  /** Where the event stands on the sub-agent's own log. */
  readonly child: { readonly session: string; readonly seq: number };
}

/** An event of a sub-agent on the log of its parent, written after its commit on the sub-agent's own. */
export type ChildEventBody =
  | {
      [Type in CopiedType]: OfChild & {
        readonly type: `child.${Type}`;
        /** What it says; long texts and values are cut to their beginning and end. */
        readonly event: Omit<Extract<OwnEventBody, { readonly type: Type }>, 'type'>;
      };
    }[CopiedType]
  | (OfChild & {
      /** What it used beside its own turns: calls of models, sub-agents of its own, its budget. Of a workflow: all. */
      readonly type: 'child.usage';
      readonly usage?: Usage;
      readonly cost_usd?: number;
      /** Taken from its balance. */
      readonly charged?: number;
    });

/** What happened, without its place on the log. Durable: each of these is written before anybody is told. */
export type EventBody = OwnEventBody | ChildEventBody;

/** Where an event stands on its log. */
export interface EventHead {
  /** Counts from 1, without gaps, in each stream. */
  readonly seq: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly session: string;
  /** 0 before the first turn. */
  readonly turn: number;
  readonly cause: Cause;
}

/** An event on the log. */
export type SessionEvent = EventBody & EventHead;

export type EventType = EventBody['type'];
export type EventOf<Type extends EventType> = Extract<SessionEvent, { readonly type: Type }>;

/** What a watcher of a session gets: durable events after their commit, live ones behind what was appended before them. */
export type ObservedEvent = SessionEvent | LiveEvent;
