import type { InvokeRecord } from '../lib/calls.ts';
import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction, SkipReason } from './action.ts';
import type { FeedEventBody } from './feed-event.ts';
import type { HandoffEventBody } from './handoff-event.ts';
import type { ReviewEventBody } from './review-event.ts';
import type { TaskEventBody, TurnEventBody, Usage, ValueEventBody, VariableClass } from './session-events.ts';

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
  | 'variable.changed'
  | SpeakerType;

/** What the log of a conversation holds, besides, of an agent that has the conversation. */
export type SpeakerType =
  | 'turn.started'
  | 'action.declared'
  | 'action.started'
  | 'action.skipped'
  | 'action.cancelled'
  | 'action.interrupted'
  | 'review.requested'
  | 'review.resolved'
  | 'review.voided'
  | 'session.waiting';

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

/** What becomes of an action. */
export type ActionEventBody =
  | { readonly type: 'action.declared'; readonly action: DeclaredAction }
  | {
      readonly type: 'action.started';
      readonly id: string;
      readonly attempt: number;
      readonly input: JsonObject;
    }
  | {
      readonly type: 'action.completed';
      readonly id: string;
      readonly output: Json;
      readonly ms: number;
      readonly attempts: number;
    }
  | {
      readonly type: 'action.failed';
      readonly id: string;
      readonly error: ErrorJson;
      readonly ms: number;
      readonly attempts: number;
    }
  | {
      readonly type: 'action.skipped';
      readonly id: string;
      readonly reason: SkipReason;
      /** The dependency, or what is wrong with the test. */
      readonly because?: string;
    }
  | {
      readonly type: 'action.retrying';
      readonly id: string;
      readonly attempt: number;
      readonly error: ErrorJson;
      readonly delay_ms: number;
    }
  | { readonly type: 'action.cancelled'; readonly id: string; readonly reason: string }
  | { readonly type: 'action.interrupted'; readonly id: string; readonly attempt: number }
  | { readonly type: 'action.compensated'; readonly id: string; readonly by: string };

/** Timers, triggers, and the workflow runs that they or actions begin. */
export type TriggerEventBody =
  /** One of the same id that has not fired is replaced. `data`: what is to be known when it fires. */
  | { readonly type: 'timer.set'; readonly id: string; readonly due: number; readonly data?: Json }
  | { readonly type: 'timer.fired'; readonly id: string }
  | {
      readonly type: 'trigger.fired';
      /** `WORKFLOW#0`: which of the workflow's triggers. */
      readonly trigger: string;
      readonly workflow: string;
      /** The run that it starts: its stream is made once this is on the log. */
      readonly run: string;
      /** What `${trigger.*}` shows: its type, what matched, from and to. */
      readonly seen: JsonObject;
      /** The workflows that led here by setting each other off, this one last. */
      readonly chain: readonly string[];
    }
  | {
      readonly type: 'trigger.suppressed';
      readonly trigger: string;
      readonly workflow: string;
      /** `test`: its test could not be evaluated, and counts as false; told once until that changes. */
      readonly reason: 'depth' | 'cooldown' | 'busy' | 'over' | 'test';
      readonly message: string;
      readonly chain?: readonly string[];
    }
  /** How a run that this session set off or called has ended; its own log says the rest. `told`: the model hears of it. */
  | {
      readonly type: 'workflow.completed';
      readonly run: string;
      readonly workflow: string;
      readonly output: Json;
      readonly told?: true;
    }
  | {
      readonly type: 'workflow.failed';
      readonly run: string;
      readonly workflow: string;
      readonly error: ErrorJson;
      readonly told?: true;
    }
  | {
      readonly type: 'workflow.cancelled';
      readonly run: string;
      readonly workflow: string;
      readonly reason: string;
      readonly told?: true;
    }
  /** What a run asked of the session, under a key of its own: what follows from it comes next on the log. */
  | {
      readonly type: 'workflow.asked';
      readonly run: string;
      readonly workflow: string;
      readonly key: string;
      readonly what: 'set_metadata' | 'set_variable' | 'notify' | 'emit' | 'charge';
    };

/** What is shown as it comes and never written: no seq, and lost if nobody looks. */
export type LiveEvent =
  | {
      readonly type: 'thought.delta';
      readonly session: string;
      readonly turn: number;
      readonly depth: number;
      readonly text: string;
      /** The agent that thinks, where the conversation has moved to another one. `turn` is that agent's own. */
      readonly speaker?: string;
    }
  | {
      readonly type: 'response.delta';
      readonly session: string;
      readonly turn: number;
      readonly text: string;
      /** Whether its opening tag means it to be the final one; what becomes of it is decided once all of it is there. */
      readonly final?: boolean;
      /** The agent that speaks, where the conversation has moved to another one. `turn` is that agent's own. */
      readonly speaker?: string;
    }
  | {
      readonly type: 'action.progress';
      readonly session: string;
      readonly turn: number;
      readonly id: string;
      readonly data: Json;
    };

/** The action that a sub-agent's session stands for. */
export interface ParentRef {
  readonly session: string;
  readonly action: string;
  /** The agents above it by name, from the one that nobody called on: how deep it is. */
  readonly agents: readonly string[];
}

/** The definition that a session is pinned to. */
export interface ManifestPin {
  readonly path: string;
  readonly hash: string;
  readonly code?: true;
  /** Hashes of the scripts, modules and scripted models that it names, by path. A change of one is reported. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Where and when a session began, as its model is told. On the log, so that its prompts are the same after a restart. */
export interface SessionEnvironment {
  /** The day, in UTC: `2026-11-19`. */
  readonly date: string;
  /** The agent's folder, absolute: paths that tools take are relative to it. */
  readonly folder: string;
  /** As Node names it: `linux`, `darwin`, `win32`. */
  readonly platform: string;
}

/** How a session begins, rests, goes on and ends. */
export type LifeEventBody =
  | {
      readonly type: 'session.started';
      readonly agent: string;
      readonly input: string;
      /** Where the manifest was read, and the hash of all it consists of. `code`: parts of it are functions of a program. */
      readonly manifest: ManifestPin;
      readonly model: string;
      readonly parent?: ParentRef;
      /** The session's key, where `protocol.seal` is on. */
      readonly seal?: string;
      /** Absent on logs that were begun before models were told of it. */
      readonly environment?: SessionEnvironment;
      /** Variables given at the start. */
      readonly vars?: JsonObject;
      /** The classes of those that are no runtime variables. */
      readonly classes?: Readonly<Record<string, VariableClass>>;
      /** Whose variables of `key: user` it has, where it has any. */
      readonly user?: string;
      /** The values metadata begins with: defaults, or what the agent's last run left. */
      readonly metadata?: JsonObject;
      /** The fields of metadata that are enums: the states that the agent says it is in. */
      readonly states?: readonly string[];
      readonly balance?: number;
      /** In place of the manifest's `limits.turns`. */
      readonly max_turns?: number;
      /** A final response ends the exchange, not the session: it then waits for the next message. */
      readonly chat?: true;
      /** A run gives it its tasks, and ends it: the agent is told how to complete a step. */
      readonly led?: true;
      /** Where this session was branched off from. */
      readonly forked?: { readonly session: string; readonly seq: number };
    }
  | { readonly type: 'session.completed'; readonly result: Json }
  | { readonly type: 'session.failed'; readonly error: ErrorJson }
  | { readonly type: 'session.stalled'; readonly error: ErrorJson }
  | { readonly type: 'session.cancelled'; readonly reason: string; readonly by: string }
  | {
      readonly type: 'session.resumed';
      readonly by: string;
      /** In place of the limit that the session was started with. */
      readonly max_turns?: number;
      /** In place of the balance that it was started with, where the manifest has another by now. */
      readonly budget?: number;
      /** It goes on as a chat, whatever it was. */
      readonly chat?: true;
      /** What it is pinned to from here on, where its manifest or a file of it has changed. */
      readonly manifest?: ManifestPin;
      /** Files that its manifest names and that have changed since. */
      readonly changed_files?: readonly string[];
    }
  /** `for: 'message'`: a chat has nothing to do until somebody says something. */
  | { readonly type: 'session.waiting'; readonly for: string };

/** A hook that was asked. */
export interface HookRecord {
  readonly hook: 'before_turn' | 'after_turn' | 'before_action' | 'after_action' | 'on_error';
  /** `agent`, `workflow` or `step NAME`: whose hook it is, and which of its list. */
  readonly of: string;
  readonly index: number;
  /** What is asked: an artifact's method, or a program. */
  readonly by: string;
  /** The action it was asked about. */
  readonly action?: string;
  /** What it came to; `changed`: the parameters or the result are others than before. */
  readonly outcome: 'passed' | 'refused' | 'changed';
  readonly reason?: string;
  /** Why its fallback counts, where it does. */
  readonly fallback?: string;
  /** Of `before_action`: the parameters that count from here on, where the log does not hold them yet. */
  readonly input?: JsonObject;
  readonly ms: number;
}

/** Totals as the usage of all that they are of: estimated where a part of it was. */
export const usageOf = ({
  input,
  output,
  estimated,
}: {
  readonly input: number;
  readonly output: number;
  readonly estimated?: boolean | undefined;
}): Usage => (estimated === true ? { input, output, estimated } : { input, output });
