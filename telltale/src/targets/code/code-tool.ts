import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject } from '../../kernel/json.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Check } from '../check-parameters.ts';
import { plainJson } from '../output/plain-json.ts';
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
  const { what, maxBytes } = context;
  const judge = parameters === undefined ? undefined : createJudge(parameters, what);
  const implementation: Implementation = async (input, call) => {
    let given: unknown = input;
    if (judge !== undefined) {
      const judged = judge.of(call.input);
      const validated = judged instanceof Promise ? await judged : judged;
      if (!validated.ok) throw badParameters(what, validated.problem);
      given = validated.value;
    }
    const result = await runUserCode(run, given, call, context);
    if (output === undefined) return plainJson(result, what, maxBytes);
    const fitting = await validate(output, result);
    if (!fitting.ok) throw badOutput(what, fitting.problem);
    return plainJson(fitting.value, what, maxBytes);
  };
  return { implementation, check: judge?.check };
}

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
