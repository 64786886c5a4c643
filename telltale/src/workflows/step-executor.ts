import type { FreeSlot } from '../engine/slots.ts';
import type { InvokeRecord } from '../lib/calls.ts';
import type { ErrorJson, RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Cause } from '../log/event.ts';
import type { SimpleStep, Step } from '../manifest/schema/steps/step.ts';
import type { Invocation } from '../tools/artifacts/create-invoke.ts';
import type { Locals } from './scope.ts';

/** One time that a step without steps inside is begun. */
export interface StepInstance {
  readonly step: SimpleStep;
  /** See `RunEventBody`. */
  readonly address: string;
  /** Items of the `foreach` steps around it, by name. */
  readonly locals: Locals;
}

export interface UndoInstance extends Omit<StepInstance, 'step'> {
  readonly step: Step;
}

export interface StepAttempt extends StepInstance {
  readonly input: JsonObject;
  /** From 1 on. */
  readonly attempt: number;
  /** Aborted on time-out and cancellation; `run` must then end soon. */
  readonly signal: AbortSignal;
  /** The same for every try, also after a restart: `RUN:ADDRESS`. */
  readonly idempotencyKey: string;
  /** Its `step.started`. */
  readonly cause: Cause;
  /**
   * Says that the step has nothing to do before `due`, or before a message: once that is so of all steps in hand, the
   * run is let go of and later taken up again from its log. The returned function says that it goes on.
   */
  suspend(waitsFor: string, due?: number): () => void;
}

/** A step that is ready to begin. */
export interface PreparedStep {
  /** What it was given, resolved: put on the log with `step.started`. */
  readonly input: JsonObject;
  /** Whether it may be done again where a crash left it in doubt. */
  readonly repeatable: boolean;
  /** Time for each try where the step sets none. */
  readonly timeoutMs?: number;
  /**
   * There where its call needs a slot first: waited for before each try, ahead of `step.started`, and outside of the
   * step's time. What it gives, gives the slot back.
   */
  enter?(signal: AbortSignal): FreeSlot | Promise<FreeSlot>;
  /** The same where it can be had at once, without a signal: undefined where it must be waited for. */
  enterNow?(): FreeSlot | undefined;
  /** It keeps the step's `timeout` itself, on the log, so that it outlasts a restart: the machine sets none. */
  readonly timesItself?: true;
  /** Rejects with a RuntimeError. The result is plain JSON of bounded size. */
  run(call: StepAttempt): Promise<Json>;
}

/** Told whether it may be done again where a crash left it in doubt, and the time that its target has by itself. */
export type BeginUndo = (repeatable: boolean, timeoutMs?: number) => Promise<void>;

/** What steps do. The machine knows when; this knows what. */
export interface StepExecutors {
  /** Resolves the references in a step. Rejects where a path does not exist or a target is not there. */
  ready(place: StepInstance): Promise<PreparedStep>;
  /**
   * Undoes a completed step by its `compensate`; one with steps inside may have it as well. Nothing is called before
   * `begin` resolves.
   */
  compensate(place: UndoInstance, output: Json, signal: AbortSignal, begin: BeginUndo): Promise<void>;
}

/** A call that a step is about to make, or has made: of a tool, relic, agent, prompt, workflow or script. */
export interface StepCall {
  /** The step's address. */
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly parameters: JsonObject;
  readonly cause?: Cause | undefined;
  readonly signal: AbortSignal;
}

/**
 * The hooks around the calls of one step: the agent's, then the workflow's, then its own. Each is put on the run's
 * journal; one that is there is not asked again about the same address. Rejects with the signal's reason.
 */
export interface StepHooks {
  /** Before `step.started`, which then shows what it resolves with. Rejects with `hook_refused`. */
  before(call: StepCall, check?: (parameters: JsonObject) => RuntimeError | undefined): Promise<JsonObject>;
  /** The result that counts. */
  after(call: StepCall, result: Json): Promise<Json>;
  /** Once the step has failed for good. */
  failed(call: StepCall, error: ErrorJson): Promise<void>;
}

/** Undefined where nobody has hooks for it: then nothing is asked. */
export type HooksOf = (step: SimpleStep) => StepHooks | undefined;

/** CEL, a constant, or an artifact. */
export type Test = string | boolean | Invocation<boolean>;

/**
 * Takes the decisions of a run and puts each on its log: what came out once comes out again after a restart, from the
 * log. `at` names the place, once in a run: `ADDRESS:if`.
 */
export interface Decisions {
  /** CEL that cannot be evaluated is false, with the problem on the log. */
  test(at: string, test: Test, locals: Locals): Promise<boolean>;
  /** The prompt of a step: its text with `${…}` resolved, or the artifact's, with the components that join it. */
  prompt(
    step: {
      readonly name: string;
      readonly prompt?: string | Invocation<string> | undefined;
      readonly prompt_artifact_id?: string | undefined;
    },
    address: string,
    locals: Locals,
  ): Promise<string>;
  /** What an artifact answers: a value whose text is one of `answers`, or the fallback. */
  answer(at: string, invocation: Invocation, answers: readonly string[], locals?: Locals): Promise<Json>;
  /**
   * What an artifact says of work: `judged` joins the context that it is given. Each call asks, so that the reason of a
   * fallback is known to whoever puts the verdict on the log; `result` is of the type `verdict`.
   */
  verdict(
    at: string,
    invocation: Invocation<string>,
    judged: JsonObject,
    locals: Locals,
    signal: AbortSignal,
  ): Promise<Pick<InvokeRecord, 'result' | 'fallback'>>;
}
