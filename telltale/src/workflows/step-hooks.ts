import type { Cause } from '../events/event.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { ErrorJson, RuntimeError } from '../kernel/runtime-error.ts';
import type { SimpleStep } from '../manifest/schema/steps/step.ts';

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
