import type { Clock } from '../lib/clock.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import type { Cause, EventBody } from '../log/event.ts';

/** The code of an error: what an action has leave for is not what it would do now. */
export const APPROVAL_VOID = 'approval_void';

/** What the scheduler must know of a target before it starts one. */
export interface TargetTraits {
  readonly idempotent: boolean;
  /** Where that depends on the parameters: counts in place of `idempotent`. */
  idempotentFor?(input: JsonObject): boolean;
  readonly start: 'on_close' | 'on_turn_end';
  readonly timeoutMs?: number;
  /** How long it may take to stop, where that is more than GRACE_MS. */
  readonly graceMs?: number;
  /** There where only so many calls of it run at once, over all sessions: then `slot` is called before each try. */
  readonly slots?: { readonly key: string; readonly max: number } | undefined;
  /** JSON Schema of the parameters. */
  readonly parameters?: JsonObject;
  /** The parameters as they are meant. */
  inFull?(input: JsonObject): JsonObject;
  /** What is wrong with the resolved parameters. */
  check(input: JsonObject): RuntimeError | undefined;
  /** There where a person may have to be asked: then `clear` is called before the first try. */
  needs?(...asked: never): unknown;
}

/** What a call must be cleared for. The signal is aborted when the action is cancelled meanwhile. */
export interface ClearCall {
  readonly action: DeclaredAction;
  readonly input: JsonObject;
  readonly signal: AbortSignal;
}

/** A try that needs one of the slots of its target. The signal is aborted when the action is cancelled meanwhile. */
export interface SlotCall {
  readonly key: string;
  readonly max: number;
  readonly signal: AbortSignal;
}

/** An action that is looked at before it begins, or before its end is recorded. `cause`: the last event that moved it on. */
export interface LookCall extends ClearCall {
  readonly cause: Cause | undefined;
}

export interface PerformCall {
  readonly action: DeclaredAction;
  readonly input: JsonObject;
  readonly attempt: number;
  /** The try's `action.started`. */
  readonly cause: Cause | undefined;
  readonly signal: AbortSignal;
}

/** What a `$name` stands for outside the scheduler's own knowledge (feeds, variables, metadata). */
export type OuterLookup = (name: string) => Json | undefined;

/** The rest of the world, passed in by `session`. What is called is called on it: its methods may be those of a record. */
export interface SchedulerDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1: the jitter of retries. */
  readonly random: () => number;
  /** Puts an event on the log, in order, and returns its place: the state has been folded when it returns. */
  append(body: EventBody, cause?: Cause): Cause;
  /** Calls back when everything appended up to `seq` is committed; with an error if it never will be. */
  committed(seq: number, then: (error?: RuntimeError) => void): void;
  /** The last event that is committed. */
  committedSeq(): number;
  /**
   * Whether another process may have taken the log meanwhile: then also what may be done again begins only once its
   * start is committed, since it may long have completed there. Absent where nobody else can.
   */
  readonly mayBeLost?: (() => boolean) | undefined;
  /** Undefined for a target that is not there; `unknownTarget` then makes the error. */
  traits(action: DeclaredAction): TargetTraits | undefined;
  unknownTarget(action: DeclaredAction): RuntimeError;
  /**
   * Has an action looked at before it begins, once, however often it is tried: resolves with the parameters that it
   * begins with, and rejects where it may not. Comes before anybody is asked for leave, and costs no time of the action.
   */
  readonly before?: ((call: LookCall) => Promise<JsonObject>) | undefined;
  /**
   * Has the output of an action looked at: resolves with the one that counts, and with what goes on the log together
   * with the action's end. It is outside of the action's time, and its rejection is that the look was stopped.
   */
  readonly after?:
    | ((
        call: LookCall & { readonly output: Json },
      ) => Promise<{ readonly output: Json; readonly records: readonly EventBody[] }>)
    | undefined;
  /**
   * Asks for leave to start, before anything is on the log of it but its declaration: however long it takes, it costs
   * no time of the action. Undefined: at once. Resolves with the reason where it may not start.
   */
  clear?(call: ClearCall): Promise<RuntimeError | undefined> | undefined;
  /**
   * Whether a person is being asked about an action that waits for leave. Before there is a question, and once it is
   * answered, the action moves on by itself. Absent: always.
   */
  readonly asks?: ((id: string) => boolean) | undefined;
  /**
   * Takes one of the slots of a target: at once, or when one is free. What it gives, gives the slot back. It comes after
   * leave to start, and before anything of the try is on the log, and costs no time of the action.
   */
  readonly slot?: ((call: SlotCall) => (() => void) | Promise<() => void>) | undefined;
  /**
   * Told before the start of a try is on the log that must not be made twice; what it gives is called once its end is.
   * Undefined where this process begins none any more: the action stays where it is, for whoever goes on.
   */
  readonly once?: (() => (() => void) | undefined) | undefined;
  /**
   * Runs a target. Rejections are failures, but for APPROVAL_VOID: then nothing was done, and leave is asked for again.
   * Must settle soon after the signal is aborted.
   */
  perform(call: PerformCall): Promise<Json>;
  /**
   * Whether what a running action calls has nothing to do but wait for a person, so that another process may go on with
   * it. Absent where none may.
   */
  readonly rests?: ((id: string) => boolean) | undefined;
  lookup: OuterLookup;
  /**
   * Loads what `lookup` has not yet, where `name` stands for something that can be: then true, and `then` is called,
   * later, once `lookup` has it or it has failed.
   */
  readonly fetch?: ((name: string, then: (failure?: RuntimeError) => void) => boolean) | undefined;
  /** What the CEL of `if` sees beside `actions`: `metadata vars agent`. */
  context(): Readonly<Record<string, unknown>>;
}
