import type { DeclaredAction } from '../events/action.ts';
import type { Cause } from '../events/event.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { Attempt } from './attempt.ts';
import type { Binding } from './bind.ts';
import type { TurnEnding } from './core.ts';
import type { TargetTraits } from './edges.ts';
import type { ActionNode } from './graph.ts';

export interface Running {
  readonly at: 'running';
  /** Undefined while its target is being called. */
  attempt: Attempt | undefined;
  /** Why it was cancelled, if it was. */
  cancelled: string | undefined;
}

export interface Clearing {
  readonly at: 'clearing';
  readonly withdraw: () => void;
}

export interface Looking {
  readonly at: 'looking';
  readonly withdraw: () => void;
}

export interface Slotting {
  readonly at: 'slotting';
  readonly withdraw: () => void;
}

/** Where an action is on its way, as far as time is concerned. */
export type Stage =
  /** For what the graph says. */
  | { readonly at: 'waiting' }
  /** For a place among those that run. */
  | { readonly at: 'queued' }
  /** For leave to start; `withdraw` takes the question back. */
  | Clearing
  /** For whoever looks at it before it begins, or before its end is recorded. */
  | Looking
  /** For one of the slots that its target has. */
  | Slotting
  /** For the commit of its `action.started`. */
  | { readonly at: 'committing' }
  | Running
  /** For its next try; `forget` takes it back. */
  | { readonly at: 'resting'; readonly forget: () => void }
  | { readonly at: 'ended' };

export const WAITING: Stage = { at: 'waiting' };
export const QUEUED: Stage = { at: 'queued' };
export const ENDED: Stage = { at: 'ended' };

/** An action from its declaration to its end. */
export interface Run {
  readonly action: DeclaredAction;
  readonly node: ActionNode;
  binding: Binding;
  /** Undefined where there is no such target, or none yet. */
  traits: TargetTraits | undefined;
  /** The action that this one undoes. */
  readonly undoes: string | undefined;
  /** Whether it takes one of the places of `parallel_actions`. */
  readonly counted: boolean;
  /** How the turn that declared it ended, where it has. */
  turn: 'open' | TurnEnding;
  /** The last event that moved it on. */
  cause: Cause | undefined;
  stage: Stage;
  /** Resolved parameters, from its first try on, or from when somebody was asked about them. */
  input: JsonObject | undefined;
  /** Whether it has leave to start. */
  cleared: boolean;
  /** Whether those who look at actions before they begin have seen it. */
  looked: boolean;
  /** Gives back the slot of its target that it has. */
  slot?: (() => void) | undefined;
  /** Of a try that must not be made twice: says that its end is on the log. */
  leaveOnce?: (() => void) | undefined;
  /** Whether it keeps its place while it waits for a slot. */
  keepsPlace?: boolean;
  attempts: number;
  failures: number;
  /** When its first try began. */
  since: number;
  /** When its target gave the result that is being looked at. */
  until?: number;
}
