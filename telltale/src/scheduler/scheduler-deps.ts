import type { Clock } from '../lib/clock.ts';
import type { ErrorJson, RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import type { Cause, EventBody } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';

/** Error code: what was approved is not what the action would do now. */
export const APPROVAL_VOID = 'approval_void';

/** What the scheduler must know about a target before it calls it. */
export interface TargetTraits {
  readonly idempotent: boolean;
  /** For targets where it depends on the parameters. Replaces `idempotent`. */
  idempotentFor?(input: JsonObject): boolean;
  readonly start: 'on_close' | 'on_turn_end';
  readonly timeoutMs?: number;
  /** How long the target may take to stop, if that is more than GRACE_MS. */
  readonly graceMs?: number;
  /** Set if only `max` calls of the target may run at once, in all sessions. Then `takeSlot` is called before each attempt. */
  readonly slots?: { readonly key: string; readonly max: number } | undefined;
  /** JSON Schema of the parameters. */
  readonly parameters?: JsonObject;
  /** Completes the parameters, for example with defaults. */
  inFull?(input: JsonObject): JsonObject;
  /** Returns what is wrong with the resolved parameters. */
  check(input: JsonObject): RuntimeError | undefined;
  /** Set if a call may need approval. Then `requestApproval` is called before the first attempt. */
  needs?(...asked: never): unknown;
}

/** A call that may need approval. The signal is aborted if the action is cancelled meanwhile. */
export interface ApprovalCall {
  readonly action: DeclaredAction;
  readonly input: JsonObject;
  readonly signal: AbortSignal;
}

/** An attempt that needs one of its target's slots. The signal is aborted if the action is cancelled meanwhile. */
export interface SlotCall {
  readonly key: string;
  readonly max: number;
  readonly signal: AbortSignal;
}

/** A call of the hooks before an action starts or before its end is recorded. `cause`: the last event of the action. */
export interface ActionHookCall extends ApprovalCall {
  readonly cause: Cause | undefined;
}

export interface PerformCall {
  readonly action: DeclaredAction;
  readonly input: JsonObject;
  readonly attempt: number;
  /** The attempt's `action.started`. */
  readonly cause: Cause | undefined;
  readonly signal: AbortSignal;
}

/** The value of a `$name` that comes from feeds, variables or metadata. */
export type OuterLookup = (name: string) => Json | undefined;

/** What the scheduler needs from its session. Call these functions as methods: they may use `this`. */
export interface SchedulerDeps {
  readonly clock: Clock;
  /** A number 0 ≤ x < 1, for the jitter of retries. */
  readonly random: () => number;
  /** Appends an event to the log and folds it into the state. Returns its position as a cause. */
  append(body: EventBody, cause?: Cause): Cause;
  /** Calls back when everything up to `seq` is committed, or with an error if it never will be. */
  committed(seq: number, then: (error?: RuntimeError) => void): void;
  /** The sequence number of the last committed event. */
  committedSeq(): number;
  /**
   * Whether another process may have taken over the log meanwhile. Then idempotent calls wait for the commit of their start
   * too, since they may have completed there. Absent if no other process can.
   */
  readonly mayBeLost?: (() => boolean) | undefined;
  /** Undefined if the target does not exist. `unknownTarget` then makes the error. */
  traits(action: DeclaredAction): TargetTraits | undefined;
  unknownTarget(action: DeclaredAction): RuntimeError;
  /**
   * Runs the hooks before an action, once for all of its attempts. Resolves with the parameters to use, and rejects if the
   * action may not start. Runs before anybody is asked for approval, and does not count towards the action's timeout.
   */
  readonly before?: ((call: ActionHookCall) => Promise<JsonObject>) | undefined;
  /**
   * Runs the hooks after an action. Resolves with the output to use, and with events to log together with the action's end.
   * Does not count towards the action's timeout. Rejects if it was aborted.
   */
  readonly after?:
    | ((
        call: ActionHookCall & { readonly output: Json },
      ) => Promise<{ readonly output: Json; readonly records: readonly EventBody[] }>)
    | undefined;
  /**
   * Asks for approval before the action starts, without limit of time. Returns undefined if none is needed, and resolves
   * with an error if the action may not start.
   */
  requestApproval?(call: ApprovalCall): Promise<RuntimeError | undefined> | undefined;
  /**
   * Whether an action that waits for approval waits for a person right now. Before there is a question, and after its answer,
   * the action proceeds by itself. Absent: always.
   */
  readonly awaitsPerson?: ((id: string) => boolean) | undefined;
  /**
   * Takes one of a target's slots, at once or when one is free. The returned function gives it back. Called after approval
   * and before anything of the attempt is on the log. Does not count towards the action's timeout.
   */
  readonly takeSlot?: ((call: SlotCall) => (() => void) | Promise<() => void>) | undefined;
  /**
   * Called before the start of a call that must not be made twice is logged. The returned function is called once its end is
   * logged. Returns undefined if this process starts no more such calls: the action then waits for the next owner.
   */
  readonly enterNonIdempotent?: (() => (() => void) | undefined) | undefined;
  /**
   * Calls a target. A rejection is a failure, except with the code APPROVAL_VOID: then nothing was done, and approval is
   * requested again. Must settle soon after the signal is aborted.
   */
  perform(call: PerformCall): Promise<Json>;
  /**
   * Whether a running action only waits for a person, so that another process may continue with it. Absent if no other
   * process may.
   */
  readonly isParked?: ((id: string) => boolean) | undefined;
  lookup: OuterLookup;
  /**
   * Starts to load a name that `lookup` does not know yet. Returns false if nothing can be loaded; otherwise calls `then`
   * later, once `lookup` knows the name or loading has failed.
   */
  readonly fetch?: ((name: string, then: (failure?: RuntimeError) => void) => boolean) | undefined;
  /** The variables in the CEL of `if`, besides `actions`: `metadata`, `vars` and `agent`. */
  context(): Readonly<Record<string, unknown>>;
}

/** What a `$reference` stands for at this moment. */
export type Resolution =
  /** `rest`: the part of the source that is text. `id`: the action or `<foreach>` whose output it is, if it is one. */
  | { readonly state: 'value'; readonly value: Json; readonly id?: string | undefined; readonly rest: string }
  | { readonly state: 'pending'; readonly id: string; readonly rest: string }
  | { readonly state: 'failed'; readonly id: string; readonly error: ErrorJson; readonly rest: string }
  | { readonly state: 'unknown' };

export interface ForEachLoop {
  /** The list as it is written: `$list`. */
  readonly in: string;
  readonly as: string;
  readonly actions: readonly DeclaredAction[];
}

export interface RollbackResult {
  readonly undone: readonly string[];
  /** Actions that could not be undone: the undo action failed, was interrupted or did not run. */
  readonly left: readonly string[];
}

export interface SchedulerOptions {
  /** How many actions may run at once. */
  readonly parallelActions: number;
  readonly actionTimeoutMs: number;
  /** The folded state, which `append` keeps up to date. The scheduler only reads it. */
  readonly state: SessionState;
  /** Called when an action with `on_error: fail` has failed for good. The session ends. */
  readonly onFatal: (error: RuntimeError, id: string, left: RollbackResult['left']) => void;
  /** Called after each action's end, in log order. */
  readonly onEnded?: (id: string) => void;
}
