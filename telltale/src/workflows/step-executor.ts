import type { FreeSlot } from '../engine/slots.ts';
import type { InvokeRecord } from '../lib/calls.ts';
import type { ErrorJson, RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Cause } from '../log/event.ts';
import type { SimpleStep, Step } from '../manifest/schema/steps/step.ts';
import type { Invocation } from '../tools/artifacts/create-invoke.ts';
import type { Locals } from './scope.ts';

/** One execution of a simple step, which has no inner steps. */
export interface StepInstance {
  readonly step: SimpleStep;
  /** See `RunEventBody`. */
  readonly address: string;
  /** The items of surrounding `foreach` steps, by name. */
  readonly locals: Locals;
}

export interface UndoInstance extends Omit<StepInstance, 'step'> {
  readonly step: Step;
}

export interface StepAttempt extends StepInstance {
  readonly input: JsonObject;
  /** From 1 on. */
  readonly attempt: number;
  /** Aborted on time-out and cancellation. `run` must end soon then. */
  readonly signal: AbortSignal;
  /** The same for every attempt, also after a restart: `RUN:ADDRESS`. */
  readonly idempotencyKey: string;
  /** Its `step.started`. */
  readonly cause: Cause;
  /**
   * Says that the step has nothing to do until `due` or a message. Once all open steps are suspended, the run
   * is released and later resumed from its log. Call the returned function when the step continues.
   */
  suspend(waitsFor: string, due?: number): () => void;
}

/** A step that is ready to start. */
export interface PreparedStep {
  /** Its input with references resolved, which `step.started` records. */
  readonly input: JsonObject;
  /** Whether it may run again if a crash leaves its outcome unknown. */
  readonly repeatable: boolean;
  /** The time for each attempt if the step sets none. */
  readonly timeoutMs?: number;
  /**
   * Set if its call needs a slot. It is awaited before each attempt, before `step.started`, and outside of
   * the step's time. The result releases the slot.
   */
  enter?(signal: AbortSignal): FreeSlot | Promise<FreeSlot>;
  /** Takes the slot if it is free now, and returns undefined otherwise. */
  enterNow?(): FreeSlot | undefined;
  /** The step enforces its `timeout` itself, on the log, so that it survives a restart. */
  readonly timesItself?: true;
  /** Rejects with a RuntimeError. The result is plain JSON of bounded size. */
  run(call: StepAttempt): Promise<Json>;
}

/**
 * Called before a step is undone: whether that may be repeated after a crash, and the time-out of its target.
 */
export type BeginUndo = (repeatable: boolean, timeoutMs?: number) => Promise<void>;

/** Executes steps. The state machine decides when, and the executors know how. */
export interface StepExecutors {
  /** Resolves the references in a step. Rejects where a path does not exist or a target is not there. */
  ready(place: StepInstance): Promise<PreparedStep>;
  /**
   * Undoes a completed step by its `compensate`, which steps with inner steps may have too. Nothing is called
   * before `begin` resolves.
   */
  compensate(place: UndoInstance, output: Json, signal: AbortSignal, begin: BeginUndo): Promise<void>;
}

/** A call of a step: of a tool, relic, agent, prompt, workflow or script. */
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
 * The hooks around the calls of one step: those of the agent, then of the workflow, then of the step. Each
 * result is recorded in the run's journal and not asked for again at the same address. Rejects with the
 * signal's reason.
 */
export interface StepHooks {
  /** Runs before `step.started`, which records the resulting parameters. Rejects with `hook_refused`. */
  before(call: StepCall, check?: (parameters: JsonObject) => RuntimeError | undefined): Promise<JsonObject>;
  /** Resolves with the result that counts. */
  after(call: StepCall, result: Json): Promise<Json>;
  /** Call it when the step has finally failed. */
  failed(call: StepCall, error: ErrorJson): Promise<void>;
}

/** Undefined if there are no hooks for the step. */
export type HooksOf = (step: SimpleStep) => StepHooks | undefined;

/** A test: CEL, a constant, or a question to an artifact. */
export type Test = string | boolean | Invocation<boolean>;

/**
 * Makes the decisions of a run and records each on its log. After a restart the recorded decision is used.
 * `at` identifies the decision within the run: `ADDRESS:if`.
 */
export interface Decisions {
  /** A CEL test that cannot be evaluated is false, and the log records the problem. */
  test(at: string, test: Test, locals: Locals): Promise<boolean>;
  /** The prompt of a step with its components: its own text with `${…}` resolved, or an artifact's. */
  prompt(
    step: {
      readonly name: string;
      readonly prompt?: string | Invocation<string> | undefined;
      readonly prompt_artifact_id?: string | undefined;
    },
    address: string,
    locals: Locals,
  ): Promise<string>;
  /** An artifact's answer: a value whose text is one of `answers`, or the fallback. */
  answer(at: string, invocation: Invocation, answers: readonly string[], locals?: Locals): Promise<Json>;
  /**
   * An artifact's verdict on work. `judged` is added to its context. Each call asks again, so that the caller
   * can record why a fallback was used. `result` has the type `verdict`.
   */
  verdict(
    at: string,
    invocation: Invocation<string>,
    judged: JsonObject,
    locals: Locals,
    signal: AbortSignal,
  ): Promise<Pick<InvokeRecord, 'result' | 'fallback'>>;
}
