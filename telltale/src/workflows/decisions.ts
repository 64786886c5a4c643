import type { InvokeRecord } from '../kernel/invoke-record.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { Invocation } from '../targets/artifacts/invoker.ts';
import type { Locals } from './scope.ts';

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
