import type { Cause, ObservedEvent } from '../../events/event.ts';
import type { ParentRef } from '../../events/life-event.ts';
import type { SessionState } from '../../events/state.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Lead } from '../guide/lead.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { ResumeOptions, SessionResult, StartOptions } from '../runtime-types.ts';
import type { StopReason } from '../stop.ts';
import type { Rest } from './rest.ts';

/** What a sub-agent's session has of the one that it works for. */
export interface Lineage {
  readonly parent: ParentRef;
  /** The session or run at the top: it takes turns with others for all that is below it. */
  readonly group: string;
  /** The start of the action that it stands for. */
  readonly cause: Cause | undefined;
  /** Fields of metadata that it has in common with its parent, and the values they begin with: `inherit: share`. */
  readonly sharedFields: ReadonlySet<string>;
  readonly shared: JsonObject;
  /** Its parent's metadata, for its first prompt: `metadata.inherit: read`. */
  readonly shown: JsonObject | undefined;
  /** The values its variables of the same names begin with, unless `metadata.inherit: none`. */
  readonly variables: JsonObject;
  /** Its parent's variables that are exposed to it, for its first prompt: `metadata.inherit: read`. */
  readonly shownVariables: JsonObject | undefined;
  /** Whose variables of `key: user` its parent has. */
  readonly user: string | undefined;
  /** What `${agent.parent}` is at this moment, unless `metadata.inherit: none`. */
  readonly view: (() => JsonObject) | undefined;
  /** What is left of its parent's budget. */
  readonly balance: number | undefined;
  readonly limits: LimitsAbove;
}

/** The limits of all sessions above one, which share what those below them use. */
export interface LimitsAbove {
  /** Whether there is one that has to be asked for. */
  readonly isBounded: boolean;
  /** Resolves when all that counts for the session above counts for those above it, too. */
  readonly counted: () => Promise<void>;
  /** The limit that is used up, if one is. */
  readonly reached: () => RuntimeError | undefined;
}

/** How a session comes to be worked on. */
export type Begin =
  | {
      readonly kind: 'start';
      readonly id: string;
      readonly agent: LoadedAgent<unknown>;
      readonly start: StartOptions;
      readonly lineage?: Lineage;
      /** Where a run leads it. */
      readonly lead?: Lead;
    }
  | {
      readonly kind: 'resume';
      readonly id: string;
      readonly agent: LoadedAgent<unknown>;
      readonly resume: ResumeOptions<unknown>;
      readonly lineage?: Lineage;
      readonly lead?: Lead;
    };

/** A session, as the one above it holds it. */
export interface ChildSession {
  /** As it is on the log, JSON: what an agent in code reads it as is for those who start it themselves. */
  readonly result: Promise<SessionResult<unknown>>;
  subscribe(listener: (event: ObservedEvent) => void): () => void;
  readonly rest: Pick<Rest, 'reviews' | 'onMoved'>;
  /** What it is by now, as far as it has begun. The session's own: it changes. */
  peek(): SessionState | undefined;
  /** Ends the exchange in hand, of a chat. */
  breakOff(): void;
  /** Nothing more is said to it, a chat. */
  finish(): void;
  /** Ends it; the first reason counts. `result` says when it has ended. */
  stop(reason: StopReason): void;
}

/** Begins a session. A port: what runs sessions is above what runs actions. */
export type Spawn = (begin: Begin) => ChildSession;
