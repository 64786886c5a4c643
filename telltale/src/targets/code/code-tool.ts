import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Check } from '../check-parameters.ts';
import type { TargetCall } from '../target.ts';
import type { Implementation, ToolContext } from '../tools/implementation.ts';
import { type Run, runUserCode } from '../user-code.ts';
import { badOutput, badParameters, type Validated, validate } from './validate.ts';

/** What `defineTool` keeps beside the manifest. */
export interface CodeTool {
  readonly run: Run;
  /** What its parameters become; without it the manifest's JSON Schema judges them. */
  readonly parameters?: StandardSchemaV1 | undefined;
  readonly output?: StandardSchemaV1 | undefined;
}

/** A tool that is a function of the program, and, where it has a schema of a library's own, that schema's judgement. */
export function codeTool(
  { run, parameters, output }: CodeTool,
  context: ToolContext,
): { readonly implementation: Implementation; readonly check: Check | undefined } {
  const { what } = context;
  const judge = parameters === undefined ? undefined : createJudge(parameters, what);
  const judgeOutput = output === undefined ? undefined : outputJudge(output, what);
  const perform = (validated: Validated, call: TargetCall): Promise<Json> =>
    validated.ok
      ? runUserCode(run, validated.value, call, context, judgeOutput)
      : Promise.reject(badParameters(what, validated.problem));
  const implementation: Implementation = (input, call) => {
    if (judge === undefined) return runUserCode(run, input, call, context, judgeOutput);
    const judged = judge.of(call.input);
    return judged instanceof Promise
      ? judged.then((validated) => perform(validated, call))
      : perform(judged, call);
  };
  return { implementation, check: judge?.check };
}

const outputJudge = (schema: StandardSchemaV1, what: string) => async (result: unknown) => {
  const fitting = await validate(schema, result);
  if (!fitting.ok) throw badOutput(what, fitting.problem);
  return fitting.value;
};

/**
 * A schema is asked once for each call: what it says before the action starts is kept until the action runs. One that
 * answers later is waited for only then.
 */
function createJudge(schema: StandardSchemaV1, what: string) {
  const answers = new WeakMap<JsonObject, Validated | Promise<Validated>>();
  return {
    check(input: JsonObject): RuntimeError | undefined {
      try {
        const answer = validate(schema, input);
        if (answer instanceof Promise)
          answer.catch(() => undefined); // heard of when it is waited for
        else if (!answer.ok) return badParameters(what, answer.problem);
        answers.set(input, answer);
        return undefined;
      } catch (thrown) {
        return toRuntimeError(thrown);
      }
    },
    of: (input: JsonObject) => answers.get(input) ?? validate(schema, input),
  };
}
