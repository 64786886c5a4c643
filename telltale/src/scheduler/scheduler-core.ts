import { RunAhead } from '../lib/clock.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import type { Cause } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import type { Attempt } from './attempt.ts';
import type { Binding } from './bindings.ts';
import type { TurnEnding } from './dependency-graph.ts';
import { type ActionNode, createGraph, type JoinNode } from './graph.ts';
import type { NameSpace } from './names.ts';
import type { SchedulerDeps, SchedulerOptions, TargetTraits } from './scheduler-deps.ts';

/**
 * `failing`: an action with `on_error: fail` has failed, and only undo actions may start. `closed`: nothing may start.
 * `lost`: another process owns the log, so nothing may even be recorded.
 */
export type SchedulerStatus = 'open' | 'failing' | 'closed' | 'lost';

/** The state of a scheduler. `ActionScheduler` adds the public methods; the functions in this folder work on this state. */
export abstract class SchedulerCore implements NameSpace {
  readonly options: SchedulerOptions;
  readonly deps: SchedulerDeps;
  readonly state: SessionState;
  readonly graph = createGraph();
  readonly keys: NameSpace['keys'] = new Map();
  readonly loops: NameSpace['loops'] = new Map();
  /** Actions that have not ended, by id. */
  readonly runs = new Map<string, Run>();
  /** Every `<foreach>` that has not created its actions. */
  readonly openLoops = new Set<Run>();
  /** Ready actions that wait for capacity. */
  readonly queue = new FifoQueue<Run>();
  /** Ready actions that need no capacity. */
  readonly uncountedQueue = new FifoQueue<Run>();
  /** How many more actions may run at once, out of `parallel_actions`. */
  capacity: number;
  /** Action starts that are not committed yet. */
  readonly ahead = new RunAhead();
  /** Ids of completed actions, in the order of their completion. */
  readonly completed: string[] = [];
  readonly notifier: CompletionNotifier;
  status: SchedulerStatus = 'open';
  /** Why the scheduler is no longer open. */
  closeReason = '';
  /** Called when nothing runs any more after the log was lost. */
  readonly idle = new Set<() => void>();
  /** The rollback in progress. The next one starts after it. */
  undoing: Promise<unknown> | undefined;
  /** The number of the last `<foreach>`. */
  loopsMade = 0;

  constructor(options: SchedulerOptions, deps: SchedulerDeps) {
    this.options = options;
    this.deps = deps;
    this.state = options.state;
    this.capacity = options.parallelActions;
    this.notifier = new CompletionNotifier((id) => {
      if (!this.graph.joins.has(id)) this.options.onEnded?.(id);
    });
  }

  /** Starts every action that may start, then notifies those who wait for ended ones. */
  abstract advance(): void;

  /** Ends the session because an action with `on_error: fail` has failed for good. */
  abstract failSession(id: string, error: RuntimeError, cause: Cause | undefined): void;

  abstract whenAllEnded(ids: readonly string[], then: () => void): () => void;

  abstract loadOutside(name: string): JoinNode | undefined;

  lookup(name: string): Json | undefined {
    return this.deps.lookup(name);
  }
}

export interface Running {
  readonly at: 'running';
  /** Undefined while the target is being called. */
  attempt: Attempt | undefined;
  /** Why the action was cancelled, if it was. */
  cancelled: string | undefined;
}

export interface AwaitingApproval {
  readonly at: 'awaiting_approval';
  readonly withdraw: () => void;
}

export interface InHook {
  readonly at: 'in_hook';
  readonly withdraw: () => void;
}

export interface AwaitingSlot {
  readonly at: 'awaiting_slot';
  readonly withdraw: () => void;
}

/** What an action is doing, or what it waits for. */
export type RunStage =
  /** It waits for its dependencies. */
  | { readonly at: 'waiting' }
  /** It waits for capacity. */
  | { readonly at: 'queued' }
  /** It waits for an approval. `withdraw` takes the question back. */
  | AwaitingApproval
  /** A hook runs, before the action starts or before its end is recorded. */
  | InHook
  /** It waits for one of its target's slots. */
  | AwaitingSlot
  /** It waits for the commit of its `action.started`. */
  | { readonly at: 'committing' }
  | Running
  /** It waits for its next attempt. `forget` cancels the timer. */
  | { readonly at: 'backing_off'; readonly forget: () => void }
  | { readonly at: 'ended' };

export const WAITING: RunStage = { at: 'waiting' };
export const QUEUED: RunStage = { at: 'queued' };
export const ENDED: RunStage = { at: 'ended' };

/** An action from its declaration to its end. */
export interface Run {
  readonly action: DeclaredAction;
  readonly node: ActionNode;
  binding: Binding;
  /** Undefined if the target does not exist. */
  traits: TargetTraits | undefined;
  /** The action that this one undoes. */
  readonly undoes: string | undefined;
  /** Whether it counts towards `parallel_actions`. */
  readonly usesCapacity: boolean;
  /** How the turn that declared it ended, or that it is still open. */
  turn: 'open' | TurnEnding;
  /** The last event that moved the action forward. */
  cause: Cause | undefined;
  stage: RunStage;
  /** Resolved parameters: set before the first attempt, or before somebody is asked to approve them. */
  input: JsonObject | undefined;
  approved: boolean;
  /** Whether the hooks that run before an action have run. */
  beforeHookDone: boolean;
  /** Gives back the target's slot that the action holds. */
  slot?: (() => void) | undefined;
  /** Set while a call runs that must not be made twice. Call it once the end of the call is on the log. */
  releaseGuard?: (() => void) | undefined;
  /** Whether it keeps its capacity while it waits for a slot. */
  keepsCapacity?: boolean;
  attempts: number;
  failures: number;
  /** When its first attempt began. */
  startedAt: number;
  /** When its target returned the result that a hook is reading. */
  targetEndedAt?: number;
}

/** Lets another process continue with the session: a call that must not be made twice has ended, and the log says so. */
export function releaseGuard(run: Run): void {
  run.releaseGuard?.();
  run.releaseGuard = undefined;
}

export function giveSlotBack(run: Run): void {
  run.slot?.();
  run.slot = undefined;
}

interface EndWaiter {
  left: number;
  readonly then: () => void;
}

/** Notifies those who wait for the end of actions and groups, in the order of the log. */
export class CompletionNotifier {
  /** Ids that have ended and that nobody was notified of. */
  readonly #ended = new FifoQueue<string>();
  readonly waiters = new Map<string, readonly EndWaiter[]>();
  readonly #onEnded: (id: string) => void;
  #flushing = false;

  /** `onEnded` is called for each end, before those who wait for it. */
  constructor(onEnded: (id: string) => void) {
    this.#onEnded = onEnded;
  }

  /** Records that this id has ended. Nobody is notified before `flush`. */
  add(id: string): void {
    this.#ended.push(id);
  }

  /** Calls back once `count` of these have ended. The returned function cancels that. */
  wait(ids: readonly string[], count: number, then: () => void): () => void {
    const waiter: EndWaiter = { left: count, then };
    for (const id of ids) this.waiters.set(id, [...(this.waiters.get(id) ?? []), waiter]);
    return () => {
      waiter.left = 0; // it may be in the middle of being notified
      for (const id of ids) this.#remove(id, waiter);
    };
  }

  #remove(id: string, waiter: EndWaiter): void {
    const others = this.waiters.get(id)?.filter((each) => each !== waiter);
    if (others === undefined || others.length === 0) this.waiters.delete(id);
    else this.waiters.set(id, others);
  }

  /** Notifies everybody, also of actions that end meanwhile. */
  flush(): void {
    if (this.#flushing) return; // a callback has ended another action: the loop below comes to it
    this.#flushing = true;
    try {
      for (let id = this.#ended.shift(); id !== undefined; id = this.#ended.shift()) this.#notify(id);
    } finally {
      this.#flushing = false;
    }
  }

  #notify(id: string): void {
    this.#onEnded(id);
    const waiting = this.waiters.get(id) ?? [];
    this.waiters.delete(id);
    for (const waiter of waiting) if (--waiter.left === 0) waiter.then();
  }

  /** Drops what nobody was notified of. */
  clear(): void {
    this.#ended.clear();
  }
}

/** Used entries that are kept before the rest is moved to the front. */
const MAX_USED = 1024;

/** First in, first out, at a constant cost: `Array.shift` moves every entry. */
class FifoQueue<T> {
  #items: T[] = [];
  #used = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.#used === this.#items.length) return undefined;
    const item = this.#items[this.#used++];
    if (this.#used === this.#items.length) this.clear();
    else if (this.#used > MAX_USED && this.#used * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#used);
      this.#used = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#used = 0;
  }
}
