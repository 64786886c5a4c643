import type { DeclaredAction } from '../events/action.ts';
import type { Cause } from '../events/event.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { Attempt } from './attempt.ts';
import type { ActionNode } from './graph.ts';
import type { Binding } from './names.ts';

/** Where an action is on its way, as far as time is concerned. */
export type Stage =
  /** For what the graph says. */
  | { readonly at: 'waiting' }
  /** For a place among those that run. */
  | { readonly at: 'queued' }
  /** For the commit of its `action.started`. */
  | { readonly at: 'committing' }
  | { readonly at: 'running'; attempt: Attempt | undefined; cancelled: string | undefined }
  /** For its next try. */
  | { readonly at: 'resting'; readonly wake: () => void }
  | { readonly at: 'ended' };

export const WAITING: Stage = { at: 'waiting' };
export const QUEUED: Stage = { at: 'queued' };
export const ENDED: Stage = { at: 'ended' };

/** An action from its declaration to its end. */
export interface Run {
  readonly action: DeclaredAction;
  readonly node: ActionNode;
  readonly binding: Binding;
  /** The action that this one undoes. */
  readonly undoes: string | undefined;
  /** Whether it takes one of the places of `parallel_actions`. */
  readonly counted: boolean;
  /** How the turn that declared it ended, where it has. */
  turn: 'open' | 'well' | 'broken';
  /** The last event that moved it on. */
  cause: Cause | undefined;
  stage: Stage;
  /** Resolved parameters, from its first try on. */
  input: JsonObject | undefined;
  attempts: number;
  failures: number;
  /** When its first try began. */
  since: number;
}
