import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { type Validated, validate } from '../../targets/code/validate.ts';

/** What the schema makes of a final response. Whether that is final is decided at once, so the schema must not wait. */
export function judgeOutput(schema: StandardSchemaV1, value: Json): Validated {
  const judged = validate(schema, value);
  if (!(judged instanceof Promise)) return judged;
  judged.catch(() => undefined);
  throw outputWaits();
}

/** Reads a result that has been judged before. */
export function readOutputWith(schema: StandardSchemaV1, value: Json): unknown {
  const judged = judgeOutput(schema, value);
  if (judged.ok) return judged.value;
  throw outputChanged(judged.problem);
}

const outputWaits = () =>
  new RuntimeError('async_schema', 'The schema of "output" answers with a promise.', {
    hint: "Use a schema without asynchronous checks there; those of a tool's parameters may have them. Zod answers so also where a check or a transform throws.",
  });

const outputChanged = (problem: string) =>
  new RuntimeError('bad_output', `The result on the log does not fit the schema of "output": ${problem}`, {
    hint: 'Pass the agent as it was when the session ended.',
  });
