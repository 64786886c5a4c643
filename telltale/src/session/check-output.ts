import type { StandardSchemaV1 } from '@standard-schema/spec';
import { holdsInfinity } from '../kernel/holds-infinity.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { compileUserSchema } from '../manifest/schema/user-schemas/check-user-schema.ts';
import { judgeOutput } from './define/read-output.ts';
import { isDeeperThan } from './metadata/value-size.ts';

export type CheckedOutput =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problem: string };

/** Reads a final response as the agent's `output.schema` wants it; without one, the text itself is the result. */
export function createOutputCheck(
  schema: JsonObject | undefined,
  /** Where it belongs, in the words of the dialect. */
  where: string,
  standard?: StandardSchemaV1,
): (text: string) => CheckedOutput {
  if (schema === undefined) return (text) => ({ ok: true, value: text });
  const violation = standard === undefined ? compiledSchema(schema) : standardViolation(standard);
  return (text) => {
    const bare = withoutFence(text.trim());
    let value: Json;
    try {
      value = JSON.parse(bare) as Json;
    } catch (thrown) {
      const why = thrown instanceof Error ? thrown.message : String(thrown);
      return {
        ok: false,
        problem: `Your final response must be JSON of the output schema and nothing else, but it cannot be read: ${why}. ${where}`,
      };
    }
    const wrong = isDeeperThan(value, MAX_OUTPUT_DEPTH)
      ? TOO_DEEP
      : holdsInfinity(value)
        ? NOT_FINITE
        : violation(value);
    if (wrong === undefined) return { ok: true, value };
    return {
      ok: false,
      problem: `Your final response is JSON, but not of the output schema: ${wrong}. Mend it and respond again.`,
    };
  };
}

/** As deep as what a tool returns: whoever writes, compares or judges it walks down it. */
const MAX_OUTPUT_DEPTH = 100;

const TOO_DEEP = `it is nested deeper than ${MAX_OUTPUT_DEPTH} levels`;
const NOT_FINITE = 'a number in it is too large to be kept (1.8e308 is the limit)';

function compiledSchema(schema: JsonObject): (value: Json) => string | undefined {
  const compiled = compileUserSchema(schema);
  if (!compiled.ok) throw badSchema(compiled.error[0]?.message ?? 'it cannot be used');
  return compiled.value;
}

/** Where the agent was written in code, its own schema judges; the JSON Schema is what the model reads. */
const standardViolation =
  (standard: StandardSchemaV1) =>
  (value: Json): string | undefined => {
    const judged = judgeOutput(standard, value);
    return judged.ok ? undefined : judged.problem.replace(/\.$/, '');
  };

/** Only an agent that was made in code can come this far with one. */
const badSchema = (why: string) =>
  new RuntimeError('bad_manifest', `The schema of "output" is wrong: ${why}`, {
    hint: 'Give a JSON Schema (2020-12).',
  });

/** Models like to put JSON into a fence. */
function withoutFence(text: string): string {
  const fence = /^(`{3,})[^\n`]*\n/.exec(text);
  const run = fence?.[1];
  if (fence === null || run === undefined || !text.endsWith(run)) return text;
  return text.slice(fence[0].length, -run.length);
}
