import type { ErrorJson, RuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import type { Cause, EventBody } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import type { TurnEnding } from './dependency-graph.ts';

/** What a `$reference` stands for at this moment. */
export type Resolution =
  /** `rest` is what of the source turned out to be text; `id`, whose result it is, if an action's or a `<foreach>`'s. */
  | { readonly state: 'value'; readonly value: Json; readonly id?: string | undefined; readonly rest: string }
  | { readonly state: 'pending'; readonly id: string; readonly rest: string }
  | { readonly state: 'failed'; readonly id: string; readonly error: ErrorJson; readonly rest: string }
  | { readonly state: 'unknown' };

export interface Loop {
  /** As it is written: `$list`. */
  readonly in: string;
  readonly as: string;
  readonly actions: readonly DeclaredAction[];
}

/**
 * Starts actions as soon as they may start, and sees them to their end. One for each session. Call its methods on it: they
 * are not bound.
 */
export interface Scheduler {
  /**
   * Appends `action.declared` and starts the action at once if it may. Synchronous up to the call of its target. Gives the
   * id that it has on the log, or undefined where the one that it asks for is taken.
   */
  declare(action: DeclaredAction, cause: Cause): string | undefined;
  /** What a `<parallel>` of this id is called on the log, or why it may not have it. */
  claim(id: string): string | Extract<EventBody, { type: 'fault' }>;
  /** Whether an action or a group has this id on the log. */
  isTaken(id: string): boolean;
  /**
   * A `<foreach>` that closed: each action once per item, as soon as the list is there. The list may be declared later in
   * the turn.
   */
  loop(loop: Loop, cause: Cause): void;
  /** These were set outside: one of them may be the list that a `<foreach>` waits for. */
  named(values: Readonly<Record<string, unknown>>, cause: Cause): void;
  /**
   * Calls back once all of these (ids or groups) have ended; at once, synchronously, if they have. The returned function
   * forgets it.
   */
  whenEnded(ids: readonly string[], then: () => void): () => void;
  /** The same for the first of these. */
  whenOneEnded(ids: readonly string[], then: () => void): () => void;
  /** What a reference of a response stands for. */
  resolve(source: string): Resolution;
  /** The model's stream of this turn has ended: what waits for unknown ids and lists is skipped, `on_turn_end` targets start. */
  turnEnded(ended: TurnEnding): void;
  /** No further action of this `<parallel>` will come, and nothing more is read before those that did have ended. */
  closed(group: string): void;
  /** Something in these `<parallel>`s was kept from acting: what depends on them is skipped. */
  spoil(groups: readonly string[]): void;
  /** Whether it cannot end before the model has said more, or has ended its turn. */
  awaitsMore(id: string): boolean;
  /**
   * Unfinished actions of any turn that somebody waits for: none that is `fire_and_forget` or in the background, nor any
   * that depends on an unfinished one there.
   */
  tracked(): readonly string[];
  /** Of these, the ones that wait neither for a person nor for one that does. */
  moving(): readonly string[];
  /** Whether all that is unfinished waits for leave to start, or for what does (`rests`): nothing will move by itself. */
  atRest(): boolean;
  /** All other unfinished actions. */
  untracked(): readonly string[];
  /**
   * Runs `compensate` of completed actions in reverse order, down to and including `to`; of all without it. What was
   * declared behind the action `by` stays: it may be asked for again after a restart, when more has been done. When the
   * signal is aborted, no further one is undone.
   */
  rollback(
    to: string | undefined,
    cause: Cause,
    asked?: { readonly by: string; readonly signal: AbortSignal },
  ): Promise<RolledBack>;
  /** Aborts what runs, drops what waits (these ids only, if given), and resolves when all of it has stopped. */
  cancel(reason: string, ids?: readonly string[]): Promise<void>;
  /**
   * Aborts what runs and records nothing any more, so that another process can take the session over from its log;
   * resolves when all has stopped.
   */
  abandon(): Promise<void>;
  /**
   * Takes over a folded session after a restart: what had been started without a result is run again with the same
   * attempt's key if its target is idempotent, else `action.interrupted`; what waited goes on waiting or starts.
   */
  restore(state: SessionState): void;
}

export interface RolledBack {
  readonly undone: readonly string[];
  /** What was to be undone and is not: what was to undo it failed, was interrupted or did not run. */
  readonly left: readonly string[];
}

export interface SchedulerOptions {
  /** How many actions run side by side. */
  readonly parallelActions: number;
  readonly actionTimeoutMs: number;
  /** The folded state that `append` keeps up to date: read only here. */
  readonly state: SessionState;
  /**
   * Called when an action with `on_error: fail` has failed for good: the session ends. `left` could not be undone before.
   */
  readonly onFatal: (error: RuntimeError, id: string, left: RolledBack['left']) => void;
  /** Called after each action's end, in log order. */
  readonly onEnded?: (id: string) => void;
}
